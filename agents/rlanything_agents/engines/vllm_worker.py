"""Extension of vLLM's worker on processors, where vLLM keeps packed copies of weights.

vLLM packs each weight matrix when it is loaded, and again when it is reloaded. An output head that shares its matrix
with the embedding is left out of the second packing (0.32), so the engine goes on with the head of its first
weights. vLLM imports this module in its own processes (``--worker-extension-cls`` of a server); it imports no other.
"""

from __future__ import annotations

from typing import Any

__all__ = ["WORKER_EXTENSION", "PackingWorker"]


class PackingWorker:
    """Methods that vLLM adds to its worker for ``collective_rpc``."""

    def reload_and_pack(self, weights_path: str) -> None:
        """Load weights in place, and pack shared matrices again.

        Args:
            weights_path: Folder of the weights.
        """
        worker: Any = self
        worker.reload_weights(weights_path=weights_path)
        users: dict[int, list[Any]] = {}
        for module in worker.get_model().modules():
            if hasattr(module, "quant_method") and getattr(module, "weight", None) is not None:
                users.setdefault(id(module.weight), []).append(module)
        for shared in users.values():
            for module in shared if len(shared) > 1 else ():
                module.quant_method.process_weights_after_loading(module)


WORKER_EXTENSION = f"{PackingWorker.__module__}.{PackingWorker.__qualname__}"
"""Name of the extension for vLLM."""
