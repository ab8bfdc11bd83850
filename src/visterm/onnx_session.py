"""ONNX graphs opened with onnxruntime, on one thread, where they are to be computed."""

from __future__ import annotations

from typing import Any

from visterm.errors import BadInput, MissingExtra

# In full single precision: TensorFloat-32 would keep ten bits of a number.
_PROVIDERS: dict[str, tuple[str, dict[str, str]]] = {
    "cpu": ("CPUExecutionProvider", {}),
    "cuda": ("CUDAExecutionProvider", {"use_tf32": "0"}),
    "coreml": ("CoreMLExecutionProvider", {}),
    "openvino": ("OpenVINOExecutionProvider", {"precision": "FP32"}),
    "directml": ("DmlExecutionProvider", {}),
}
PROVIDERS = tuple(_PROVIDERS)
"""Where onnxruntime can compute, if it was built for it."""


def open_session(model: str | bytes, where: str, provider: str = "cpu") -> Any:
    """An onnxruntime session of a file or of its bytes; ``where`` is what errors call it.

    One thread, the caller's: two pictures on two threads are faster than one picture on two, and
    each picture's vector is the same whatever its neighbours are.
    """
    try:
        import onnxruntime
    except ImportError as error:
        raise MissingExtra("networks need onnxruntime: pip install onnxruntime") from error
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 4  # errors come as exceptions
    options.enable_mem_pattern = provider != "directml"  # which cannot have it
    wanted = _PROVIDERS[provider]
    if wanted[0] not in onnxruntime.get_available_providers():
        raise MissingExtra(_without(provider))
    try:
        session = onnxruntime.InferenceSession(model, options, providers=[wanted])
    except Exception as error:  # onnxruntime's exceptions share no base class of their own
        raise BadInput(f"{where} cannot be opened as an ONNX model: {one_line(error)}") from None
    if session.get_providers()[0] != wanted[0]:  # it would quietly take the CPU
        raise MissingExtra(_without(provider))
    return session


def one_line(error: Exception) -> str:
    """What went wrong, short enough for a message.

    >>> one_line(ValueError("first\\n  second"))
    'first second'
    """
    return " ".join(str(error).split())[:200]


def _without(provider: str) -> str:
    return (
        f"onnxruntime cannot compute on {provider} here: install one that can (onnxruntime-gpu for "
        "cuda, onnxruntime-openvino, onnxruntime-directml) and its driver, or leave provider at cpu"
    )
