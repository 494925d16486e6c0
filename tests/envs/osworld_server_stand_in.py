"""A stand-in for the server in OSWorld's virtual machines: the same endpoints and answers, around one folder.

Commands are real processes whose home is the folder. There is no screen: ``pyautogui`` is a module that writes what is
typed to the end of the file ``typed.txt`` there and where the pointer is to ``pointer.json``, and the screenshot shows
the pointer. What the server answers, also where it fails, was read in OSWorld's ``desktop_env/server/main.py`` (in
Gen-Verse/Open-AgentRL); it has no ``/healthz``, ``/batch`` and ``/reset``.
"""

import io
import json
import os
import shlex
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs
from xml.sax.saxutils import quoteattr

from PIL import Image

from rlanything_envs.osworld.desktop.guest.multipart import parse_multipart

SCREEN = (800, 600)
PYAUTOGUI = """
import json, os
FAILSAFE, PAUSE, _home = True, 0.1, os.environ["HOME"]
def moveTo(x, y):
    json.dump([x, y], open(_home + "/pointer.json", "w"))
click = moveTo
def write(text):
    open(_home + "/typed.txt", "a").write(text)
"""
NS = "https://accessibility.ubuntu.example.org/ns/"


class OSWorldServerStandIn:
    """The server, running while the context lasts.

    Attributes:
        home: home of the guest's user.
        url: address of the server.
        reverted: how often the machine was put back.
        answer: called with method and path before an answer; what it returns is sent instead, unless None.
    """

    def __init__(self, folder: Path) -> None:
        self.home, self.reverted = folder / "home", 0
        self.answer: Callable[[str, str], bytes | None] = lambda method, path: None
        (folder / "bin").mkdir()
        (folder / "bin" / "python").symlink_to(sys.executable)
        (folder / "pyautogui.py").write_text(PYAUTOGUI)
        self.programs = {
            **os.environ,
            "HOME": str(self.home),
            "PATH": f"{folder / 'bin'}:{os.environ['PATH']}",
            "PYTHONPATH": str(folder),
        }
        self.revert()
        handler = type("Handler", (Handler,), {"guest": self})
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self.url = f"http://127.0.0.1:{self._http.server_address[1]}"

    def revert(self) -> None:
        """What a hypervisor does: the machine as it was."""
        shutil.rmtree(self.home, ignore_errors=True)
        (self.home / "Desktop").mkdir(parents=True)
        self.reverted += 1

    def __enter__(self):
        threading.Thread(target=self._http.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_):
        self._http.shutdown()
        self._http.server_close()

    # --- the endpoints: status and a value for JSON, a text, or bytes ---

    def get(self, path):
        if path == "/screenshot":
            return 200, self._screen()
        if path == "/accessibility":
            typed = quoteattr(self._typed())
            text = f'<text name={typed} cp:screencoord="(0, 0)" cp:size="(9, 9)" st:showing="true" st:visible="true"/>'
            return 200, {"AT": f'<desktop-frame xmlns:st="{NS}state" xmlns:cp="{NS}component">{text}</desktop-frame>'}
        if path == "/terminal":
            return 500, {"status": "error", "message": "no terminal is active"}
        if path == "/platform":
            return 200, "Linux"
        if path == "/cursor_position":
            return 200, self._pointer()
        return None

    def post(self, path, value):
        if path in ("/execute", "/setup/execute"):
            return self._execute(**value)
        if path == "/setup/launch":
            words = value["command"] if isinstance(value["command"], list) else shlex.split(value["command"])
            try:
                subprocess.Popen(words, env=self.programs).wait()
            except OSError as error:
                return 500, {"status": "error", "message": str(error)}
            return 200, f"{' '.join(words)} launched successfully"
        if path == "/setup/upload":
            target = self._place(value["file_path"])
            target.parent.mkdir(parents=True, exist_ok=True)
            return 200, f"File Uploaded: {target.write_bytes(value['file_data'])} bytes"
        if path == "/file":
            target = self._place(value["file_path"])
            return (200, target.read_bytes()) if target.exists() else (404, {"error": "File not found"})
        if path == "/list_directory":
            target = Path(value["path"])
            if not target.is_dir():
                return 400, {"error": "The provided path is not a directory"}
            children = [{"type": "file", "name": each.name} for each in target.iterdir()]
            return 200, {"directory_tree": {"type": "directory", "name": target.name, "children": children}}
        if path == "/setup/open_file":
            return 404, f"Application/file not found: {value['path']}"
        if path in ("/setup/activate_window", "/setup/close_window"):
            return 200, "window action succeeded"
        if path == "/run_python":
            _, done = self._execute([sys.executable, "-c", value["code"]])
            return 200, {"status": "success", "message": done["output"], "need_more": False, **done}
        if path == "/run_bash_script":
            return 500, "<!doctype html><title>500 Internal Server Error</title>"  # the server lacks a name
        if path == "/screen_size":
            return 200, dict(zip(("width", "height"), SCREEN, strict=True))
        if path == "/window_size":
            return 404, {"message": "window not found"}
        return (200, {"desktop_path": str(self.home / "Desktop")}) if path == "/desktop_path" else None

    def _execute(self, command, shell=False):
        words = shlex.split(command) if isinstance(command, str) and not shell else command
        try:
            done = subprocess.run(words, shell=shell, env=self.programs, capture_output=True, text=True, timeout=120)
        except Exception as error:
            return 500, {"status": "error", "message": str(error)}
        output = {"output": done.stdout, "error": done.stderr, "returncode": done.returncode}
        return 200, {"status": "success", **output}

    def _place(self, path):
        return Path(path.replace("~", str(self.home), 1) if path.startswith("~") else path)

    def _typed(self):
        typed = self.home / "typed.txt"
        return typed.read_text() if typed.exists() else ""

    def _pointer(self):
        place = self.home / "pointer.json"
        return json.loads(place.read_text()) if place.exists() else [0, 0]

    def _screen(self):
        picture, file = Image.new("RGBA", SCREEN, "gray"), io.BytesIO()
        x, y = self._pointer()
        picture.paste("black", (x, y, x + 12, y + 19))
        picture.save(file, "PNG")
        return file.getvalue()


class Handler(BaseHTTPRequestHandler):
    guest: OSWorldServerStandIn

    def do_GET(self):
        self._send(self.guest.get(self.path))

    def do_POST(self):
        body, kind = self.rfile.read(int(self.headers.get("Content-Length", 0))), self.headers.get("Content-Type", "")
        if kind.startswith("multipart"):
            value = {
                part.name: part.data if part.filename else part.data.decode() for part in parse_multipart(kind, body)
            }
        elif "urlencoded" in kind:
            value = {name: texts[0] for name, texts in parse_qs(body.decode()).items()}
        else:
            value = json.loads(body)
        self._send(self.guest.post(self.path, value))

    def _send(self, answer):
        given = self.guest.answer(self.command, self.path)
        if given is not None:
            self.wfile.write(given)
            return
        status, content = answer or (404, "<!doctype html><title>404 Not Found</title>")
        if not isinstance(content, bytes):
            content = content.encode() if isinstance(content, str) else json.dumps(content).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_):
        pass
