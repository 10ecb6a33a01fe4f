import pytest
from hypothesis import given
from hypothesis import strategies as st

from fgtrace.analysis.signatures import signature


def path(name):
    read = signature(name)
    return read and "::".join(read.path)


def mentioned(name):
    return [mention.path for mention in signature(name).mentions]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("plain", "plain"),
        ("void f(int, float*)", "f"),
        ("void n::f<4, int>(int)", "n::f"),
        ("unsigned long n::f(int) const", "n::f"),
        ("std::enable_if<!(false), void>::type n::f<int>(int)", "n::f"),
        ("n::C<int>::f<float>(int)", "n::C::f"),
        ("n::C<int>::operator()(int) const", "n::C::operator()"),
        ("f(int)::{lambda(int)#1}::operator()(int)", "f::operator()"),
        ("::f(int)", "f"),
        ("f<(1 > 2), (3 < 4)>(int)", "f"),
        ("f<int (*)(char)>()", "f"),
    ],
)
def test_the_path_is_without_return_type_arguments_and_parameters(name, expected):
    assert path(name) == expected


@pytest.mark.parametrize(
    "name",
    [
        "",
        " ",
        "two words",
        "f(int) and more",
        "run_3(a)_then_4(b)",
        "f<int(int)",
        "f<int",
        "f)",
        "f(]",
        "a.b",
        "step#3",
        "a::",
        "a::::b",
        "3d",
        "void",
        "bool n::operator==(int, int)",
        "(int)",
        "<int>(int)",
    ],
)
def test_what_is_not_certainly_a_name_is_not_read(name):
    assert signature(name) is None


def test_names_in_template_arguments_come_in_order_with_their_namespaces_and_without_types():
    name = "void k<4, n::Outer<float, m::Inner<int const> >, unsigned char, n::Outer<float> >(int)"
    assert mentioned(name) == ["n::Outer", "m::Inner", "n::Outer"]


def test_parameters_and_casts_name_nothing():
    assert mentioned("k<f(n::Type&), (n::Enum)3, decltype(n::x)>(n::Other)") == ["f"]


def test_members_and_lambdas_of_what_was_named_name_nothing():
    assert mentioned("k<n::f(int)::{lambda()#2}::operator()() const::{lambda(int)#1}>()") == [
        "n::f"
    ]
    assert mentioned("k<n::f(int)::'lambda'(float)::member>()") == ["n::f"]
    assert mentioned("k<A<int>::type>()") == ["A"]
    assert mentioned("k<F<int>::operator()<Inside>(int)>()") == ["F", "Inside"]


def test_a_function_is_told_from_a_type():
    read = signature("k<n::f<int>(int)::{lambda()#1}, n::Type<int>, &n::g>(int)")
    assert [(mention.path, mention.called) for mention in read.mentions] == [
        ("n::f", True),
        ("n::Type", False),
        ("n::g", False),
    ]


@given(st.text(alphabet="ab:<>(){}[], *&'-~=#3\n") | st.text())
def test_any_text_is_read_or_not_and_its_path_is_in_it(text):
    read = signature(text)
    assert read is None or (read.path and all(part in text for part in read.path))
