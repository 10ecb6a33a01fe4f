"""What screens, pages and tables show, without how they draw it."""
