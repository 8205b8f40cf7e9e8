"""The page as a file: one piece, and nothing that a program says can run in it."""

import base64
import hashlib
import re
import subprocess
import sys

from adjoint import Tensor, view
from adjoint.viz import page


def html_of(**changes):
    made = view(Tensor.ones(2) + 1, show=False)
    made.data.update(changes)
    made.title = changes.get("title", made.title)
    return made.html()


def test_the_page_names_no_other_place():
    text = html_of()
    program = text.replace("http://www.w3.org/2000/svg", "")  # the name of SVG, asked of no one
    assert re.findall(r"(?:src|href)=", re.sub(r"(?s)<script.*?</script>", "", text)) == []
    assert "https://" not in program
    assert "http://" not in program


def test_the_policy_lets_the_scripts_of_the_page_run_and_no_others():
    text = html_of()
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', text).group(1)
    assert policy.startswith("default-src 'none'")
    assert "unsafe" not in policy
    scripts = re.findall(r"(?s)<script(?: id=\"library\")?>(.*?)</script>", text)
    assert len(scripts) == 2
    for script in scripts:
        digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
        assert f"'sha256-{digest}'" in policy


def test_no_script_of_the_page_makes_markup_of_text():
    for name in page.SCRIPTS:
        text = page.static(name)
        for way in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval("):
            assert way not in text, (name, way)


def test_markup_in_names_stays_text():
    bad = "</script><script>alert(1)</script><!-- <b>&amp;"
    text = html_of(title=bad)
    assert text.count("<script") == 3
    assert "alert(1)</script>" not in text
    assert "<!--" not in text.split("<body>")[1].split("</script>")[0]


def test_json_in_a_page_has_no_sign_of_markup():
    assert page.as_json({"a": "</script>&\u2028"}) == '{"a":"\\u003c/script\\u003e\\u0026\\u2028"}'


def test_importing_adjoint_loads_nothing_of_the_viewer():
    code = "import adjoint, sys; print([m for m in sys.modules if m.startswith('adjoint.viz')])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_the_files_of_the_viewer_are_small_and_the_library_has_its_licence():
    folder = page.files("adjoint.viz").joinpath("static")
    sizes = [len(file.read_bytes()) for file in folder.iterdir()]
    assert sum(sizes) < 250_000
    assert "Permission is hereby granted" in page.static("dagre.LICENSE.txt")
