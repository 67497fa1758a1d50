"""Canonical git remotes: every spelling of one remote gives one key, and two remotes never share one.

Pure: text in, text out. It reads an address the way git does; what a key leaves out is explained where it is
left out. No password or token gets into a key or an error, so neither ever quotes the address.
"""

from __future__ import annotations

import ipaddress
import posixpath
import re
from collections.abc import Mapping
from urllib.parse import quote, unquote

import msgspec

from maestro.core.errors import Invalid

# What an address alone cannot tell:
# - Own servers that publish a repository under one path for http and another for ssh (Bitbucket's /scm/,
#   Gerrit's /a/, GitLab below a folder), or http on an unusual port beside ssh: two keys, which git's
#   `insteadOf` joins.
# - Own servers that ignore case (GitLab, Gitea, GitHub Enterprise): we cannot know, so case counts.
# - A forge's redirect after a rename, and the two addresses of one gist: two keys.
# - Home directories on a plain ssh host (`dave@box:vc`, `fred@box:vc`): one key, for on Gerrit, CodeCommit
#   and most others the user is only who asks. Full paths tell them apart.
# - CodeCommit's account is in no address: one key per region and repository.

url_chars_max = 4096

_HELPER = re.compile(r"([A-Za-z0-9][A-Za-z0-9+.-]*)::(.*)", re.DOTALL)
_URL = re.compile(r"([A-Za-z0-9][A-Za-z0-9+.-]*)://(.*)", re.DOTALL)
_SCP = re.compile(r"((?:[^/:\[\]]*@)?)(\[[^\]/]+\]|[^/:\[\]@]+):(.*)", re.DOTALL)
_HOST_PORT = re.compile(r"(\[[^\]]*\]|[^:\[\]]*)(?::([0-9]{0,5}))?")
_HOST = re.compile(r"[a-z0-9_][a-z0-9_-]*(?:\.[a-z0-9_-]+)*")
_IPV6 = re.compile(r"\[([0-9a-fA-F:.]+)\]")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
# A mistyped address can leave a password where a path should be. Better no key than one that shows it.
_PASSWORD_IN_URL_PATH = re.compile(r"[^/]@")  # a password that held a slash
_PASSWORD_IN_SCP_PATH = re.compile(r"[^/]+@|.*@[^/]*:")  # user:password@host
_PASSWORD_IN_SEGMENT = re.compile(r".*:.*@")  # https:/user:password@host
_SECRET = re.compile(r"([A-Za-z0-9+.-]+://)[^\s'\"]*@|[^\s'\"/]+:[^\s'\"/]+@")

_SSH = frozenset({"ssh", "ssh+git"})
_DEFAULT_PORTS = {"https": 443, "http": 80, "git": 9418, "ftp": 21, "ftps": 990}

# Their paths mean the same in upper and lower case.
FORGES = frozenset({"github.com", "gitlab.com", "bitbucket.org", "codeberg.org", "gitea.com"})
_FOLDS_CASE = FORGES | {"gist.github.com", "dev.azure.com"}
_ALIASES = {
    **{f"www.{forge}": forge for forge in FORGES},
    # ssh on port 443, for those behind a firewall
    "ssh.github.com": "github.com",
    "altssh.gitlab.com": "gitlab.com",
    "altssh.bitbucket.org": "bitbucket.org",
}


class Remote(msgspec.Struct, frozen=True):
    """One remote, however it was spelled."""

    key: str  # github.com/steveyegge/vc
    name: str  # vc, as it stands in the address


def canonical(url: str, *, base: str = "/") -> Remote:
    """The one remote that `url` means; a relative path starts at `base`."""
    text = _readable(url)
    if found := _HELPER.fullmatch(text):
        return _by_helper(found[1].lower(), found[2], base=base)
    path = local_path(text, base=base)
    if path is not None:
        return _local(path)
    if found := _URL.fullmatch(text):
        return _from_url(_scheme(found[1]), found[2])
    if found := _SCP.fullmatch(text):
        return _from_scp(found[2], found[3])
    raise _refused("it has the shape of no git address")


def local_path(url: str, *, base: str = "/") -> str | None:
    """The path that `url` means on this machine, as written; None when it leads to another."""
    text = url.strip()
    if _HELPER.fullmatch(text):
        return None
    if found := _URL.fullmatch(text):
        # git ignores a host in file://host/path
        return "/" + _decoded(found[2].partition("/")[2]) if _scheme(found[1]) == "file" else None
    before, colon, _ = text.partition(":")
    if colon and "/" not in before:
        return None  # git's rule: only a slash before the first colon makes such a word a path
    return posixpath.join(base, text)


def path_in_key(path: str) -> str:
    """An absolute path as it stands in a key: normalised and in ASCII."""
    return "/" + "/".join(_quoted(_segments(path)))


def with_hosts(url: str, hosts: Mapping[str, str]) -> str:
    """`url` with an ssh host replaced by the one it stands for, as ssh's own configuration has it."""
    text = url.strip()
    if found := _URL.fullmatch(text):
        if _scheme(found[1]) not in _SSH:
            return url
        authority, slash, path = found[2].partition("/")
        user, at, place = authority.rpartition("@")
        host, colon, port = place.partition(":")
        return f"{found[1]}://{user}{at}{hosts.get(host.lower(), host)}{colon}{port}{slash}{path}"
    if not _HELPER.fullmatch(text) and (found := _SCP.fullmatch(text)):
        return f"{found[1]}{hosts.get(found[2].lower(), found[2])}:{found[3]}"
    return url


def without_secrets(url: str) -> str:
    """`url` with neither password nor token; nothing at all when it cannot be read."""
    try:
        canonical(url)
    except Invalid:
        return ""
    text = url.strip()
    if found := _HELPER.fullmatch(text):
        return f"{found[1]}::{without_secrets(found[2])}"
    if not (found := _URL.fullmatch(text)):
        return text
    authority, slash, path = found[2].partition("/")
    user, at, host = authority.rpartition("@")
    # Over ssh the user is no secret and the server needs it; over http it is often the token itself.
    kept = user.partition(":")[0] + at if _scheme(found[1]) in _SSH else ""
    return f"{found[1]}://{kept}{host}{slash}{path}"


def redacted(text: str) -> str:
    """Free text, such as another program's error, without the user and password of any address in it."""
    return _SECRET.sub(lambda found: found[1] or "", text)


def _readable(url: str) -> str:
    text = url.strip()
    if not text:
        raise _refused("it is empty")
    if len(text) > url_chars_max:
        raise _refused(f"it is longer than {url_chars_max} characters")
    try:
        # Bytes that are not UTF-8 arrive as low surrogates and leave as %XX; any other surrogate is no text.
        text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        raise _refused("it is not text") from None
    return text


def _by_helper(helper: str, address: str, *, base: str) -> Remote:
    """`helper::address`, which git hands to a program called git-remote-helper."""
    if helper in {"ext", "fd"}:
        raise _refused("it is a command to run, not an address")
    found = _URL.fullmatch(address)
    if helper == "codecommit" and found:
        # codecommit::region://profile@repository; the profile is a user.
        repository = found[2].rpartition("@")[2]
        return _network("https", f"git-codecommit.{found[1]}.amazonaws.com", f"v1/repos/{repository}")
    if _HELPER.fullmatch(address):
        raise _refused("one helper stands inside another")
    inner = canonical(address, base=base)
    return Remote(f"{helper}::{inner.key}", inner.name)


def _from_url(scheme: str, rest: str) -> Remote:
    authority, _, path = rest.partition("/")
    if _PASSWORD_IN_URL_PATH.search(path):
        raise _refused("an @ stands in its path", hint="Write a slash in a password as %2F, an @ in a path as %40.")
    place = authority.rpartition("@")[2]
    if scheme not in _SSH and scheme != "git" and re.search(r"[?#]", rest):
        # A query may choose the repository or carry a token: we may neither drop it nor keep it.
        raise _refused("it has a query or a fragment")
    if scheme in _SSH or scheme in _DEFAULT_PORTS:
        return _network(scheme, place, _decoded(path))
    # Another program's scheme (s3, keybase, rad): all we know is that it is none of the above.
    segments = _without_git(_segments(_decoded(f"{place}/{path}"), climbs=False))
    return _remote(f"{scheme}://", segments)


def _from_scp(place: str, path: str) -> Remote:
    """`host:path`, `[host:port]:path`, `[::1]:path`; git does not decode %XX here."""
    if _PASSWORD_IN_SCP_PATH.match(path):
        raise _refused("an @ stands after its colon", hint="Write it as user@host:path, without a password.")
    inner = place.removeprefix("[").removesuffix("]").rpartition("@")[2]
    if inner.count(":") > 1:
        inner = f"[{inner}]"
    return _network("ssh", inner, path)


def _network(scheme: str, place: str, path: str) -> Remote:
    host, port = _host_and_port(place)
    host = _by_its_usual_name(host)
    segments = _segments(path, climbs=False)
    if scheme in _SSH and segments[:1] == ["~"]:
        del segments[0]  # ssh://host/~/vc is host:vc
    if host in _FOLDS_CASE:
        segments = [segment.lower() for segment in segments]
    host, segments = _azure(host, _without_git(segments))
    return _remote(f"{host}{_telling_port(scheme, host, port)}/", segments)


def _local(path: str) -> Remote:
    return _remote("file:/", _without_git(_segments(path)))


def _remote(prefix: str, segments: list[str]) -> Remote:
    if not segments or segments[-1] in {".", ".."}:
        raise _refused("it names no repository")
    if any(_CONTROL.search(segment) for segment in segments):
        raise _refused("it holds control characters")
    if any(_PASSWORD_IN_SEGMENT.match(segment) for segment in segments):
        raise _refused("a password stands in its path")
    return Remote(prefix + "/".join(_quoted(segments)), segments[-1])


def _host_and_port(place: str) -> tuple[str, int | None]:
    found = _HOST_PORT.fullmatch(place)
    port = int(found[2]) if found and found[2] else None
    if not found or (port is not None and not 0 < port < 65536):
        raise _refused("its port is no number", hint="Write user@host:path or ssh://user@host/path.")
    if six := _IPV6.fullmatch(found[1]):
        return _ipv6(six[1]), port
    host = _ascii(found[1]).lower().removesuffix(".")
    if not _HOST.fullmatch(host):
        raise _refused("its host is no host name")
    return host, port


def _ipv6(text: str) -> str:
    try:
        return f"[{ipaddress.IPv6Address(text).compressed}]"
    except ValueError:
        raise _refused("its host is no IPv6 address") from None


def _ascii(host: str) -> str:
    if host.isascii():
        return host
    try:
        return host.encode("idna").decode("ascii")
    except UnicodeError:
        raise _refused("its host is no host name") from None


def _by_its_usual_name(host: str) -> str:
    # `Host github.com-work` is how guides tell people to keep two accounts apart; no real host ends so.
    for forge in FORGES:
        if host.startswith(f"{forge}-"):
            return forge
    return _ALIASES.get(host, host)


def _telling_port(scheme: str, host: str, port: int | None) -> str:
    """The port, where it says which server is meant.

    An ssh port does not: it moves for reasons of the network, `git@host:a/b` may get it from ~/.ssh/config,
    and the same forge answers https without it. The exception is this machine itself, where each port is
    another tunnel or container. An http or git port is part of what people call the server.
    """
    default = _DEFAULT_PORTS.get(scheme, 22)
    is_loopback = host in {"localhost", "[::1]"} or host.startswith("127.")
    if port is None or port == default or (scheme in _SSH and not is_loopback):
        return ""
    return f":{port}"


def _azure(host: str, segments: list[str]) -> tuple[str, list[str]]:
    """Azure DevOps has three addresses for one repository: all become dev.azure.com/org/project/repo."""
    if host in {"ssh.dev.azure.com", "vs-ssh.visualstudio.com"}:
        segments = segments[1:]  # v3
    elif host.endswith(".visualstudio.com"):
        segments = [host.partition(".")[0], *segments]
    elif host != "dev.azure.com":
        return host, segments
    folded = [segment.lower() for segment in segments]
    parts = [segment for segment in folded if segment not in {"_git", "defaultcollection"}]
    if len(parts) == 2:
        parts.append(parts[1])  # a project's first repository has its name and may leave it out
    return "dev.azure.com", parts


def _segments(path: str, *, climbs: bool = True) -> list[str]:
    """The path without empty segments and dots. Above the root of a file system is the root again."""
    found: list[str] = []
    for segment in path.split("/"):
        if segment == "..":
            if not found and not climbs:
                raise _refused("its path climbs above its root")
            del found[-1:]
        elif segment not in {"", "."}:
            found.append(segment)
    return found


def _without_git(segments: list[str]) -> list[str]:
    """`vc.git` is `vc`, and `vc/.git` is too."""
    if not segments:
        return segments
    last = segments[-1].removesuffix(".git")
    return [*segments[:-1], last] if last else segments[:-1]


def _scheme(written: str) -> str:
    return written.lower().removeprefix("git+")


def _decoded(text: str) -> str:
    return unquote(text, errors="surrogateescape")


def _quoted(segments: list[str]) -> list[str]:
    # ASCII alone: keys compare byte by byte, no two look alike, and none holds the `#` of an address.
    return [quote(segment, safe="@:+,=", errors="surrogateescape") for segment in segments]


def _refused(why: str, *, hint: str = "Look at `git remote -v`; `git remote set-url` corrects it.") -> Invalid:
    return Invalid(f"This git remote cannot be read: {why}.", hint=hint)
