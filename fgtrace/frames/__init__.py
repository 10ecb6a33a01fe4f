"""The typed frames that everything else reads, and how they are kept in files."""
