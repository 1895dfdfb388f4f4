"""The disk cache of compiled kernels.

It differs from numba's own in three ways.

* numba looks only at the file of the *calling* function: change a kernel in another file and the old one keeps running.
  Here the cache folder is named by a hash of the package's sources (cache.py).
* A folder that cannot be written means "no cache", never an error.
* numba numbers a function's compiled versions in an index: two processes that compile at once may give two versions
  one number, and a later process is served the wrong machine code. Here each version is a file of its own, named by a
  hash of types, processor and byte code.

The folder's hash covers this package alone. So kernels written elsewhere, and loops over states defined elsewhere, are
compiled anew in every process: a user who edits a rule must never be shown the old one.

The classes below build on private classes of numba. `CAN_KEEP` says whether this numba has them as expected; if not,
nothing is kept on disk and everything else works.
"""

from __future__ import annotations

import hashlib
import inspect
import pickle
from collections.abc import Callable
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import Any

import numba

from turncoat._compile.cache import CACHE, PACKAGE
from turncoat._compile.progress import compiling

DIGEST = 32  # bytes of a SHA-256
not_kept: list[str] = []  # kernels of this process that the next one will compile again, though they are ours


def is_ours(owner: type) -> bool:
    """Is this class defined in the package?"""
    return owner.__module__.partition(".")[0] == PACKAGE.name


def can_keep() -> bool:
    """Probe: has numba the private classes and methods that the cache builds on?"""
    try:
        from numba.core.caching import FunctionCache, IndexDataCacheFile, NullCache  # noqa: F401

        wanted = {"cache_path", "filename_base"}
        has_files = wanted <= {*inspect.signature(IndexDataCacheFile.__init__).parameters}
        parts = ("_data_path", "_data_name", "_dump", "_open_for_write")
        has_parts = all(hasattr(IndexDataCacheFile, part) for part in parts)
        return has_files and has_parts and hasattr(FunctionCache._impl_class, "_locator_classes")
    except (ImportError, AttributeError, ValueError, TypeError):
        return False


CAN_KEEP = can_keep()


def spelled(kind: Any) -> str:
    """A type in words. numba's own leave out where a NamedTuple is from."""
    owner = getattr(kind, "instance_class", object)
    parts = ", ".join(map(spelled, kind)) if isinstance(kind, numba.types.BaseTuple) else ""
    return f"{kind!r} as {owner.__module__}.{owner.__qualname__}({parts})"


def _is_foreign(kind: Any) -> bool:
    """Is this the type of a state or NamedTuple from outside the package, does it hold one, or is it a class itself?"""
    owner = getattr(kind, "instance_class", None)
    if owner is not None and not is_ours(owner):
        return True
    if isinstance(kind, numba.types.NamedTupleClass):
        return True  # it may be made at run time: no other process would know it again
    return isinstance(kind, numba.types.BaseTuple) and any(_is_foreign(part) for part in kind)


def _kinds(signature: Any) -> Any:
    """The types of the arguments. numba passes a signature, or just them."""
    return getattr(signature, "args", signature)


def attach(kernel: Any, function: Callable[..., Any], ours: bool) -> None:
    """Give a numba dispatcher its place on disk, if it can have one, and announce when it compiles."""
    compiling.watch(getattr(kernel, "_compiler", None))
    if ours and CAN_KEEP and hasattr(kernel, "_cache"):
        kernel._cache = _FirstUse(function)


def _cache_of(function: Callable[..., Any]) -> Any:
    """Where its versions are kept, or None. A setting of numba's may choose another folder than ours."""
    if CACHE is None:
        return None
    try:
        cache = _PackageCache(function)
    except (OSError, RuntimeError):
        return None
    return cache if CACHE in Path(cache.cache_path).parents else None


class _Locator:
    """Says where numba keeps the versions of a function: in a folder of the cache for each folder of the package."""

    def __init__(self, function: Callable[..., Any], source: str) -> None:
        self._line, self._folder = function.__code__.co_firstlineno, Path(source).parent.relative_to(PACKAGE.parent)

    @classmethod
    def from_function(cls, function: Callable[..., Any], source: str) -> _Locator:
        """numba asks each class of locators for one."""
        return cls(function, source)

    def ensure_cache_path(self) -> None:
        """Make the folder; an OSError means that there can be no cache."""
        Path(self.get_cache_path()).mkdir(exist_ok=True)

    def get_cache_path(self) -> str:
        """The folder."""
        return str(CACHE / "-".join(self._folder.parts)) if CACHE else ""

    def get_source_stamp(self) -> None:
        """Nothing: the name of the cache has a hash of all sources."""

    def get_disambiguator(self) -> str:
        """What tells two functions of one name in one file apart."""
        return str(self._line)


if CAN_KEEP:
    from numba.core.caching import FunctionCache, IndexDataCacheFile, NullCache

    class _KernelFiles(IndexDataCacheFile):  # type: ignore[misc]
        """A file for each version of a function, named by what it was compiled for, and replaced as a whole."""

        def load(self, key: Any) -> Any:
            """What was kept under this key, if it is there and as it was written."""
            with suppress(OSError):
                content = Path(self._path(key)).read_bytes()
                digest, written = content[:DIGEST], content[DIGEST:]
                if hashlib.sha256(written).digest() == digest:
                    known, data = pickle.loads(written)
                    return data if known == key else None
            return None

        def save(self, key: Any, data: Any) -> None:
            """Keep it."""
            written = self._dump((key, data))
            with self._open_for_write(self._path(key)) as file:
                file.write(hashlib.sha256(written).digest() + written)

        def _path(self, key: Any) -> str:
            signature, *rest = key  # the rest: processor and byte code
            words = [self._version, *map(spelled, _kinds(signature)), *map(repr, rest)]
            digest = hashlib.sha256("\n".join(words).encode()).digest()
            return str(self._data_path(self._data_name(int.from_bytes(digest[:8], "big"))))

    class _Places(FunctionCache._impl_class):  # type: ignore[misc]
        _locator_classes = (_Locator,)

    class _PackageCache(FunctionCache):  # type: ignore[misc]
        """numba's disk cache, but in such files, and only for what the source hash covers."""

        _impl_class = _Places

        def __init__(self, function: Callable[..., Any]) -> None:
            super().__init__(function)
            self._cache_file = _KernelFiles(self._cache_path, self._impl.filename_base, None)

        def load_overload(self, sig: Any, target_context: Any) -> Any:
            """What was compiled for these types before, if it is on disk."""
            foreign = any(map(_is_foreign, _kinds(sig)))
            return None if foreign else super().load_overload(sig, target_context)

        def save_overload(self, sig: Any, data: Any) -> None:
            """Keep what was compiled for these types, if the disk lets us."""
            if not any(map(_is_foreign, _kinds(sig))):
                try:
                    super().save_overload(sig, data)
                except OSError:
                    not_kept.append(self._name)

    class _FirstUse:
        """Stands for a cache until something is compiled: most kernels of the package never are in a process."""

        def __init__(self, function: Callable[..., Any]) -> None:
            self._function = function

        @cached_property
        def _real(self) -> Any:
            kept = _cache_of(self._function)
            if kept is None:
                not_kept.append(self._function.__qualname__)
            return kept or NullCache()

        def __getattr__(self, name: str) -> Any:
            return getattr(self._real, name)
