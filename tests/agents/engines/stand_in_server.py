"""A stand-in for ``vllm serve`` over real HTTP, around the stand-in engine: the recorded routes, and nothing else.

A field that vLLM's requests do not have is refused here; the real server would ignore it and answer something else than
was asked for.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import parse_qs, urlsplit

from stand_in_vllm import LLM, RECORD, fielded

FIELDS = RECORD["fields"]
DEFAULTS = {"temperature": 0.6, "top_k": 2, "top_p": 0.8, "min_p": 0.1, "repetition_penalty": 1.1}
"""What the checkpoint's ``generation_config.json`` is supposed to say: applied where a request is silent."""


class StandInServer(ThreadingHTTPServer):
    """One model behind vLLM's routes.

    Args:
        engine: Class of the stand-in engine.
        settings: Of the engine: model, tokenizer and whatever the command line says.
        dev: ``VLLM_SERVER_DEV_MODE``.
        lora: ``VLLM_ALLOW_RUNTIME_LORA_UPDATING`` and ``--enable-lora``.
    """

    daemon_threads = True
    block_on_close = False
    request_queue_size = 64

    def __init__(
        self, engine: type[LLM], settings: dict[str, Any], *, name: str = "small", dev: bool = True, lora: bool = False
    ) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.settings = {
            "trust_remote_code": False,
            "gpu_memory_utilization": 0.4,
            "enable_sleep_mode": True,
            "logprobs_mode": "raw_logprobs",
            **({"enable_lora": True, "max_lora_rank": 8} if lora else {}),
            **settings,
        }
        self.kind, self.name, self.dev, self.lora = engine, name, dev, lora
        self.lock = threading.Lock()
        self.seen: list[str] = []
        self.bodies: list[dict[str, Any]] = []
        self.before: Callable[[Handler, str], bool] | None = None
        """May answer a request itself, or spoil the server before it is answered; True if it answered."""
        self.lie: Callable[[dict[str, Any]], None] | None = None
        """Changes each completion before it is sent."""
        self.hidden: Path | None = None
        """Folder of this machine that the server does not see."""
        self.stopping = threading.Event()
        self.engine: Any = None
        self.start()

    def start(self) -> None:
        """Start the engine, or start it anew: with the weights of the command line, and no version of them."""
        with self.lock:
            if self.engine is not None:
                self.engine.llm_engine.engine_core.shutdown()
            model = self.settings["model"]
            self.engine = self.kind(model, **{name: value for name, value in self.settings.items() if name != "model"})
            self.weight_version = "default"
            self.adapters: dict[str, str] = {}

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/v1"

    def routes(self) -> set[str]:
        """The open ones."""
        lora = {route for route in RECORD["routes"] if "lora" in route}
        always = {"GET /v1/models", "POST /v1/completions"}
        return always | (lora if self.lora else set()) | (set(RECORD["routes"]) - always - lora if self.dev else set())

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Clients of these tests hang up in the middle: no news."""


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: StandInServer

    def do_GET(self) -> None:
        self._answer("GET")

    def do_POST(self) -> None:
        self._answer("POST")

    def log_message(self, format: str, *args: Any) -> None:
        """Quiet."""

    def reply(self, body: Any, status: int = 200) -> None:
        raw = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(status)
        self.send_header("content-length", str(len(raw)))
        self.end_headers()
        self.wfile.write(raw)

    def _answer(self, method: str) -> None:
        url = urlsplit(self.path)
        raw = self.rfile.read(int(self.headers.get("content-length") or 0))
        body = json.loads(raw) if raw else {}
        route = f"{method} {url.path}"
        server = self.server
        server.seen.append(route)
        if server.before is not None and server.before(self, route):
            return
        with server.lock:
            if route not in server.routes():
                self.reply({"detail": "Not Found"}, 404)
                return
            query = {name: values if name == "tags" else values[0] for name, values in parse_qs(url.query).items()}
            known = set(RECORD["routes"][route])
            if not url.path.startswith("/v1/"):
                assert set(query) | set(body) <= known, f"{route} does not read {set(query) | set(body)}"
            try:
                self.reply(self._do(route, query, body))
            except (AssertionError, RuntimeError, TypeError) as error:
                self.reply({"error": {"message": f"{type(error).__name__}: {error}", "code": 500}}, 500)

    def _do(self, route: str, query: dict[str, Any], body: dict[str, Any]) -> Any:
        server, engine = self.server, self.server.engine
        match route:
            case "GET /v1/models":
                cards = [vars(fielded("ModelCard", {"id": name})) for name in (server.name, *server.adapters)]
                return {"object": "list", "data": cards}
            case "GET /weight_info":
                return {"weight_version": server.weight_version}
            case "POST /update_weight_version":
                server.weight_version = body["new_version"]
                return {"success": True, "new_version": body["new_version"]}
            case "POST /collective_rpc":
                self._must_see(body["kwargs"]["weights_path"])
                return {"results": engine.collective_rpc(body["method"], kwargs=body["kwargs"])}
            case "POST /reset_prefix_cache":
                return {"success": engine.reset_prefix_cache()}
            case "POST /sleep":
                engine.sleep(level=int(query.get("level", 1)))
                return b""
            case "POST /wake_up":
                engine.wake_up(tags=query.get("tags"))
                return b""
            case "POST /v1/load_lora_adapter":
                fielded("LoadLoRAAdapterRequest", body)
                self._must_see(body["lora_path"])
                server.adapters[body["lora_name"]] = body["lora_path"]
                return b"Success: LoRA adapter added."
            case "POST /v1/unload_lora_adapter":
                fielded("UnloadLoRAAdapterRequest", body)
                del server.adapters[body["lora_name"]]
                return b"Success: LoRA adapter removed."
            case "POST /v1/completions":
                return self._completions(body)
        raise AssertionError(f"{route} is recorded, but nobody needed it so far")

    def _must_see(self, path: str) -> None:
        if self.server.hidden is not None and self.server.hidden in Path(path).parents:
            raise RuntimeError(f"{path} is neither a folder nor the name of a repository")

    def _completions(self, body: dict[str, Any]) -> dict[str, Any]:
        server, engine = self.server, self.server.engine
        server.bodies.append(body)
        if unknown := set(body) - set(FIELDS["CompletionRequest"]):
            raise TypeError(f"CompletionRequest has no {sorted(unknown)}")
        asked = DEFAULTS | {"n": 1, "seed": None, "stop": [], "logprobs": None, "ignore_eos": False} | body
        kept = {name: asked[name] for name in DEFAULTS if name not in ("temperature", "top_p")}
        assert kept == {"top_k": 0, "min_p": 0, "repetition_penalty": 1}, "the checkpoint's defaults were left in place"
        names = ("n", "temperature", "top_p", "top_k", "seed", "stop", "stop_token_ids", "ignore_eos", "max_tokens")
        params = SimpleNamespace(**{name: asked[name] for name in (*names, "logprobs")}, detokenize=True)
        given = asked.get("structured_outputs")
        params.structured_outputs = None if given is None else SimpleNamespace(**given)
        adapter = None
        if body["model"] in server.adapters:
            request = {"lora_name": body["model"], "lora_int_id": 1, "lora_path": server.adapters[body["model"]]}
            adapter = fielded("LoRARequest", request)
        elif body["model"] != server.name:
            raise RuntimeError("no such model")
        (output,) = engine.generate(
            [{"prompt_token_ids": body["prompt"]}], [params], use_tqdm=False, lora_request=adapter
        )
        choices = [
            self._choice(output, sample, asked) for sample in sorted(output.outputs, key=lambda item: item.index)
        ]
        usage = {"prompt_tokens": len(body["prompt"]), "completion_tokens": sum(len(c["token_ids"]) for c in choices)}
        for choice in choices:
            if not body.get("return_token_ids"):
                choice |= {"token_ids": None, "prompt_token_ids": None}
        answer = {"id": "cmpl", "object": "text_completion", "model": body["model"], "choices": choices, "usage": usage}
        assert set(answer) <= set(FIELDS["CompletionResponse"])
        if server.lie is not None:
            server.lie(answer)
        return answer

    def _choice(self, output: Any, sample: Any, asked: dict[str, Any]) -> dict[str, Any]:
        name = self.server.engine.tokenizer.convert_ids_to_tokens
        if asked.get("return_tokens_as_token_ids"):
            name = "token_id:{}".format
        logprobs = None
        if asked["logprobs"] is not None:
            values = [step[token].logprob for step, token in zip(sample.logprobs, sample.token_ids, strict=True)]
            tops = [{name(token): value.logprob for token, value in step.items()} for step in sample.logprobs]
            tokens = [name(token) for token in sample.token_ids]
            logprobs = {
                "tokens": tokens,
                "token_logprobs": values,
                "top_logprobs": tops,
                "text_offset": [0] * len(tops),
            }
            assert set(logprobs) == set(FIELDS["CompletionLogProbs"])
        values = {
            "index": sample.index,
            "text": sample.text,
            "logprobs": logprobs,
            "finish_reason": sample.finish_reason,
            "token_ids": list(sample.token_ids),
            "prompt_token_ids": list(output.prompt_token_ids),
        }
        return vars(fielded("CompletionResponseChoice", values))


def base_settings(folder: Path, model: Any, tokenizer: Any) -> dict[str, Any]:
    """What a server is started with: a checkpoint on disk."""
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return {"model": str(folder), "tokenizer": str(folder), "max_model_len": 64}
