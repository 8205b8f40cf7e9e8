"""A real browser for tests: Chromium without a window, driven by chromedriver over HTTP."""

import base64
import contextlib
import json
import shutil
import subprocess
import tempfile
import time
import urllib.error
import urllib.request

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
DRIVER = shutil.which("chromedriver")
MISSING = "" if CHROMIUM and DRIVER else "no Chromium with chromedriver (Debian: chromium-driver)"
FLAGS = (
    "--headless=new --no-sandbox --disable-gpu --disable-quic --no-first-run --hide-scrollbars "
    "--disable-background-networking --disable-component-update --disable-sync "
    "--disable-dev-shm-usage --no-proxy-server --window-size=1280,800"
)


class Browser:
    """One session: addresses, scripts, clicks; what the console said, what was asked for."""

    def __init__(self):
        self._folder = tempfile.mkdtemp(prefix="adjoint-browser-")
        self._driver = subprocess.Popen(
            [DRIVER, "--port=0"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        self._base = f"http://127.0.0.1:{self._port()}"
        options = {
            "binary": CHROMIUM,
            "args": [*FLAGS.split(), f"--user-data-dir={self._folder}"],
        }
        wanted = {
            "browserName": "chrome",
            "goog:chromeOptions": options,
            "goog:loggingPrefs": {"browser": "ALL", "performance": "ALL"},
        }
        made = self._ask("POST", "/session", {"capabilities": {"alwaysMatch": wanted}})
        self._session = f"/session/{made['sessionId']}"
        self.open("about:blank")

    def _port(self):
        for line in self._driver.stdout:
            if "successfully on port" in line:
                return int(line.rsplit("port", 1)[1].strip().strip("."))
        raise RuntimeError("chromedriver did not start")

    def _ask(self, method, path, data=None):
        body = None if data is None else json.dumps(data).encode()
        request = urllib.request.Request(self._base + path, body, method=method)
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        try:
            with opener.open(request, timeout=120) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as error:
            raise RuntimeError(json.load(error)["value"]["message"]) from None

    def open(self, address):
        """Go there; what was logged before is forgotten."""
        self.console(), self.requests()
        self._ask("POST", f"{self._session}/url", {"url": str(address)})

    def run(self, script, *arguments):
        """What a script returns."""
        data = {"script": script, "args": list(arguments)}
        return self._ask("POST", f"{self._session}/execute/sync", data)

    def wait(self, script, seconds=40.0):
        """What a script returns as soon as that is true."""
        until = time.monotonic() + seconds
        while True:
            found = self.run(script)
            if found:
                return found
            assert time.monotonic() < until, f"still not: {script}"
            time.sleep(0.05)

    def click(self, x, y, times=1, shift=False):
        """A click of the mouse at a place of the window."""
        move = {"type": "pointerMove", "duration": 0, "x": round(x), "y": round(y)}
        press = [{"type": "pointerDown", "button": 0}, {"type": "pointerUp", "button": 0}]
        keys = [{"type": "keyDown", "value": "\ue008"}, {"type": "keyUp", "value": "\ue008"}]
        around = ([keys[0]], [keys[1]]) if shift else ([], [])
        pointer = {"type": "pointer", "id": "mouse", "parameters": {"pointerType": "mouse"}}
        wait = [{"type": "pause", "duration": 0}]
        hand = {**pointer, "actions": [*wait * len(around[0]), move, *press * times]}
        board = [*around[0], *wait * (1 + 2 * times), *around[1]]
        sources = [{"type": "key", "id": "keys", "actions": board}, hand]
        self._ask("POST", f"{self._session}/actions", {"actions": sources})

    def move(self, x, y):
        """The mouse goes to a place of the window."""
        move = {"type": "pointerMove", "duration": 0, "x": round(x), "y": round(y)}
        pointer = {"type": "pointer", "id": "mouse", "parameters": {"pointerType": "mouse"}}
        self._ask("POST", f"{self._session}/actions", {"actions": [{**pointer, "actions": [move]}]})

    def type(self, selector, text):
        """Letters into a field."""
        found = self._ask(
            "POST", f"{self._session}/element", {"using": "css selector", "value": selector}
        )
        (element,) = found.values()
        self._ask("POST", f"{self._session}/element/{element}/value", {"text": text})

    def press(self, label):
        """Click the button with this text."""
        script = """
          const all = [...document.querySelectorAll('button')];
          const one = all.find((b) => b.textContent === arguments[0] && b.offsetParent);
          if (one) one.click();
          return Boolean(one);"""
        assert self.run(script, label), f"no button {label!r}"

    def console(self):
        """What the page said on the console: warnings and errors."""
        rows = self._ask("POST", f"{self._session}/se/log", {"type": "browser"})
        return [row["message"] for row in rows if row["level"] in ("WARNING", "SEVERE")]

    def requests(self):
        """Addresses that were asked for since the page was opened."""
        rows = self._ask("POST", f"{self._session}/se/log", {"type": "performance"})
        events = [json.loads(row["message"])["message"] for row in rows]
        sent = [e["params"] for e in events if e["method"] == "Network.requestWillBeSent"]
        return [params["request"]["url"] for params in sent]

    def picture(self, path):
        """What the window shows, as PNG."""
        data = self._ask("GET", f"{self._session}/screenshot")
        with open(path, "wb") as file:
            file.write(base64.b64decode(data))

    def sized(self, width, height):
        """The window in another size."""
        self._ask("POST", f"{self._session}/window/rect", {"width": width, "height": height})

    def close(self):
        """End the browser, and remove what it has written."""
        with contextlib.suppress(RuntimeError, OSError):
            self._ask("DELETE", self._session)
        self._driver.terminate()
        self._driver.wait(20)
        self._driver.stdout.close()
        shutil.rmtree(self._folder, ignore_errors=True)
