//! Which bodies raise, and how files are written back.

use super::*;

fn made(text: &str) -> Hollow {
    hollow(&Files::new(), &files(&[("m.py", text)]))
}

#[test]
fn a_lambda_with_a_name_raises_as_any_function() {
    let text = "double = lambda x: 2 * x\nclass A:\n    half: int = lambda self: 1\n    def f(self):\n        return sorted([], key=lambda x: x)\nTABLE = {'a': lambda: 1}\n";
    let made = made(text);
    assert_eq!(raised(&made), ["double", "A.half", "A.f"]);
    let throws = "(_ for _ in ()).throw(NotImplementedError(\"hollow\"))";
    let expected = text
        .replace("x: 2 * x", &format!("x: {throws}"))
        .replace("self: 1", &format!("self: {throws}"))
        .replace("return sorted([], key=lambda x: x)", RAISES);
    assert_eq!(super::text(&made, "m.py"), expected);
    // one that was there is as it was
    let base = files(&[("m.py", "double = lambda x:  2 * x\n")]);
    let made = hollow(&base, &files(&[("m.py", text)]));
    assert_eq!(raised(&made), ["A.half", "A.f"]);
}

#[test]
fn only_pythons_own_error_says_that_there_is_no_body() {
    let made = made(
        "def a(x):\n    raise NotImplementedErrorish(x)\ndef b():\n    raise NotImplementedError('b')\ndef c():\n    raise NotImplementedError\n",
    );
    assert_eq!(raised(&made), ["a"]);
}

#[test]
fn the_same_body_in_another_class_has_not_moved_there() {
    let old = "class Old:\n    def reset(self):\n        self.n = self.n * 0\n";
    let base = files(&[("old.py", old)]);
    let new = files(&[("new.py", &old.replace("Old", "New"))]);
    assert_eq!(raised(&hollow(&base, &new)), ["New.reset"]);
    let moved = hollow(&base, &files(&[("new.py", old)]));
    assert_eq!(kept(&moved), [("Old.reset", Why::Moved)]);
}

#[test]
fn every_way_to_only_store_is_known() {
    for body in [
        "self.a, self.b = a, b",
        "self.a = self.c = a",
        "Base.__init__(self, a)\n        self.b = b",
        "super().__init__(a, b=b)",
        "object.__setattr__(self, 'a', a)",
        "self.__dict__['a'] = a",
    ] {
        let text = format!(
            "class A(Base):\n    def __init__(self, a, b):\n        {body}\n    def f(self):\n        return 1\n"
        );
        let made = made(&text);
        assert_eq!(kept(&made), [("A.__init__", Why::OnlyStores)], "{body}");
    }
    for body in [
        "self.a, self.b = a",
        "self.a = self.c = a + 1",
        "Base.__init__(a)",
        "a.b = b",
        "self.a = b.c",
        "self.a[0] = b",
    ] {
        let text = format!("class A(Base):\n    def __init__(self, a, b):\n        {body}\n");
        assert_eq!(raised(&made(&text)), ["A.__init__"], "{body}");
    }
}

#[test]
fn an_init_that_stores_through_a_setter_stands_and_falls_with_it() {
    let text = |setter: &str| {
        format!(
            "class A:\n    def __init__(self, x):\n        self.x = x\n    @property\n    def x(self):\n        return self._x + 1\n    @x.setter\n    def x(self, value):\n        {setter}\n"
        )
    };
    let stores = made(&text("self._x = value"));
    assert_eq!(raised(&stores), ["A.x"]);
    let only = Why::OnlyStores;
    assert_eq!(kept(&stores), [("A.__init__", only), ("A.x.setter", only)]);
    let more = made(&text("self._x = value * 2"));
    assert_eq!(raised(&more), ["A.__init__", "A.x", "A.x.setter"]);
    let text = |body: &str| {
        format!(
            "class A:\n    def __init__(self, x):\n        self.x = x\n    def __setattr__(self, k, v):\n        {body}\n"
        )
    };
    let more = made(&text("self.__dict__[k] = v + 1"));
    assert_eq!(raised(&more), ["A.__init__", "A.__setattr__"]);
    let stores = made(&(text("self.__dict__[k] = v") + "    def f(self):\n        return 1\n"));
    assert_eq!(raised(&stores), ["A.f"]);
}

#[test]
fn a_file_keeps_its_mark_and_its_encoding() {
    let gold = Files::from([
        (
            "mark.py".to_owned(),
            b"\xEF\xBB\xBFdef f():\n    return 1\n".to_vec(),
        ),
        (
            "latin.py".to_owned(),
            b"# coding: latin-1\ndef g():\n    return 1\nX = '\xe4'\n".to_vec(),
        ),
        (
            "odd.py".to_owned(),
            b"def h():\n    return '\xe4'\n".to_vec(),
        ),
    ]);
    let made = hollow(&Files::new(), &gold);
    assert_eq!(raised(&made), ["g", "f"]);
    let mark = [b"\xEF\xBB\xBFdef f():\n    ", RAISES.as_bytes(), b"\n"].concat();
    assert_eq!(made.files["mark.py"], mark);
    let latin = [
        b"# coding: latin-1\ndef g():\n    ",
        RAISES.as_bytes(),
        b"\nX = '\xe4'\n",
    ]
    .concat();
    assert_eq!(made.files["latin.py"], latin);
    let unparsed: Vec<_> = made
        .unparsed
        .iter()
        .map(|u| (u.path.as_str(), u.why.as_str()))
        .collect();
    assert_eq!(unparsed, [("odd.py", "gold: not UTF-8")]);
}
