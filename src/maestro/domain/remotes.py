"""Compute the key of a git remote: all spellings of one remote have one key, and two remotes never share a key.

Pure. The module reads an address as git does. A comment explains each part of an address that a key leaves out. No
password or token gets into a key or an error message, so neither quotes the address.
"""

from __future__ import annotations

import ipaddress
import posixpath
import re
from collections.abc import Mapping
from urllib.parse import quote, unquote

import msgspec

from maestro.core.errors import Invalid

# Facts that an address alone does not show:
# - Private servers that publish a repository under one path for http and another for ssh (Bitbucket's /scm/,
#   Gerrit's /a/, GitLab below a folder), or http on an unusual port beside ssh: two keys, which git's
#   `insteadOf` joins.
# - Private servers that ignore case (GitLab, Gitea, GitHub Enterprise): an address does not show it, so case counts.
# - A forge's redirect after a rename, and the two addresses of one gist: two keys.
# - Home directories on a plain ssh host (`dave@box:vc`, `fred@box:vc`): one key, because on Gerrit, CodeCommit
#   and most servers the user is only the account that fetches. Full paths tell home directories apart.
# - The account of CodeCommit is in no address: one key per region and repository.

url_chars_max = 4096
_REMOTE_HINT = "List the remotes with `git remote -v`; correct the address with `git remote set-url`."

_HELPER = re.compile(r"([A-Za-z0-9][A-Za-z0-9+.-]*)::(.*)", re.DOTALL)
_URL = re.compile(r"([A-Za-z0-9][A-Za-z0-9+.-]*)://(.*)", re.DOTALL)
_SCP = re.compile(r"((?:[^/:\[\]]*@)?)(\[[^\]/]+\]|[^/:\[\]@]+):(.*)", re.DOTALL)
_HOST_PORT = re.compile(r"(\[[^\]]*\]|[^:\[\]]*)(?::([0-9]{0,5}))?")
_HOST = re.compile(r"[a-z0-9_][a-z0-9_-]*(?:\.[a-z0-9_-]+)*")
_IPV6 = re.compile(r"\[([0-9a-fA-F:.]+)\]")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
# A mistyped address can contain a password in its path. No key is better than a key with the password.
_PASSWORD_IN_URL_PATH = re.compile(r"[^/]@")  # a password that held a slash
_PASSWORD_IN_SCP_PATH = re.compile(r"[^/]+@|.*@[^/]*:")  # user:password@host
_PASSWORD_IN_SEGMENT = re.compile(r".*:.*@")  # https:/user:password@host
_SECRET = re.compile(r"([A-Za-z0-9+.-]+://)[^\s'\"]*@|[^\s'\"/]+:[^\s'\"/]+@")

_SSH = frozenset({"ssh", "ssh+git"})
_DEFAULT_PORTS = {"https": 443, "http": 80, "git": 9418, "ftp": 21, "ftps": 990}

# Hosts whose paths mean the same in upper and lower case.
FORGE_HOSTS = frozenset({"github.com", "gitlab.com", "bitbucket.org", "codeberg.org", "gitea.com"})
_FOLDS_CASE = FORGE_HOSTS | {"gist.github.com", "dev.azure.com"}
_ALIASES = {
    **{f"www.{forge}": forge for forge in FORGE_HOSTS},
    # ssh on port 443, for users behind a firewall
    "ssh.github.com": "github.com",
    "altssh.gitlab.com": "gitlab.com",
    "altssh.bitbucket.org": "bitbucket.org",
}


class Remote(msgspec.Struct, frozen=True):
    """A git remote, independent of the spelling of its address."""

    key: str  # github.com/steveyegge/vc
    name: str  # vc, as in the address


def canonical_remote(url: str, *, base: str = "/") -> Remote:
    """Return the remote of an address; a relative path starts at `base`. Refuse an address that git cannot use."""
    text = _check_text(url)
    if found := _HELPER.fullmatch(text):
        return _from_helper(found[1].lower(), found[2], base=base)
    path = local_path(text, base=base)
    if path is not None:
        return _local_remote(path)
    if found := _URL.fullmatch(text):
        return _from_url(_normalize_scheme(found[1]), found[2])
    if found := _SCP.fullmatch(text):
        return _from_scp(found[2], found[3])
    raise _refusal("it is not in a form that git knows")


def local_path(url: str, *, base: str = "/") -> str | None:
    """Return the local path of an address as written; None for an address on another machine."""
    text = url.strip()
    if _HELPER.fullmatch(text):
        return None
    if found := _URL.fullmatch(text):
        # git ignores a host in file://host/path
        return "/" + _decode(found[2].partition("/")[2]) if _normalize_scheme(found[1]) == "file" else None
    before, colon, _ = text.partition(":")
    if colon and "/" not in before:
        return None  # git's rule: a text with a colon is a path only if a slash stands before the first colon
    return posixpath.join(base, text)


def path_in_key(path: str) -> str:
    """Return an absolute path in the form of a key: normalised and in ASCII."""
    return "/" + "/".join(_quote(_split_path(path)))


def replace_ssh_hosts(url: str, hosts: Mapping[str, str]) -> str:
    """Return an address with its ssh host replaced by the real host name from ssh's configuration."""
    text = url.strip()
    if found := _URL.fullmatch(text):
        if _normalize_scheme(found[1]) not in _SSH:
            return url
        authority, slash, path = found[2].partition("/")
        user, at, host_port = authority.rpartition("@")
        host, colon, port = host_port.partition(":")
        return f"{found[1]}://{user}{at}{hosts.get(host.lower(), host)}{colon}{port}{slash}{path}"
    if not _HELPER.fullmatch(text) and (found := _SCP.fullmatch(text)):
        return f"{found[1]}{hosts.get(found[2].lower(), found[2])}:{found[3]}"
    return url


def remove_secrets(url: str) -> str:
    """Return an address without password and token; empty for an address that cannot be read."""
    try:
        canonical_remote(url)
    except Invalid:
        return ""
    text = url.strip()
    if found := _HELPER.fullmatch(text):
        return f"{found[1]}::{remove_secrets(found[2])}"
    if not (found := _URL.fullmatch(text)):
        return text
    authority, slash, path = found[2].partition("/")
    user, at, host = authority.rpartition("@")
    # An ssh user is no secret, and the server needs it. An http user is often the token itself.
    kept = user.partition(":")[0] + at if _normalize_scheme(found[1]) in _SSH else ""
    return f"{found[1]}://{kept}{host}{slash}{path}"


def redact_addresses(text: str) -> str:
    """Return a text, such as a program's error, with user and password removed from all addresses in it."""
    return _SECRET.sub(lambda found: found[1] or "", text)


def _check_text(url: str) -> str:
    text = url.strip()
    if not text:
        raise _refusal("it is empty")
    if len(text) > url_chars_max:
        raise _refusal(f"it is longer than {url_chars_max} characters")
    try:
        # Bytes that are not UTF-8 come as low surrogates and become %XX in a key. Other surrogates are not text.
        text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        raise _refusal("it is not text") from None
    return text


def _from_helper(helper: str, address: str, *, base: str) -> Remote:
    """Return the remote of `helper::address`, which git gives to the program git-remote-helper."""
    if helper in {"ext", "fd"}:
        raise _refusal("it is a command to run, not an address")
    found = _URL.fullmatch(address)
    if helper == "codecommit" and found:
        # codecommit::region://profile@repository; a profile is a user.
        repository = found[2].rpartition("@")[2]
        return _network_remote("https", f"git-codecommit.{found[1]}.amazonaws.com", f"v1/repos/{repository}")
    if _HELPER.fullmatch(address):
        raise _refusal("it names a remote helper inside of another one")
    inner = canonical_remote(address, base=base)
    return Remote(f"{helper}::{inner.key}", inner.name)


def _from_url(scheme: str, rest: str) -> Remote:
    authority, _, path = rest.partition("/")
    if _PASSWORD_IN_URL_PATH.search(path):
        raise _refusal("its path contains an @", hint="Write a slash in a password as %2F, an @ in a path as %40.")
    host_port = authority.rpartition("@")[2]
    if scheme not in _SSH and scheme != "git" and re.search(r"[?#]", rest):
        # A query may select the repository or contain a token: a key may neither drop nor keep the query.
        raise _refusal("it has a query or a fragment")
    if scheme in _SSH or scheme in _DEFAULT_PORTS:
        return _network_remote(scheme, host_port, _decode(path))
    # A scheme of another program (s3, keybase, rad), with rules that Maestro does not know.
    segments = _without_git_suffix(_split_path(_decode(f"{host_port}/{path}"), climbs=False))
    return _build_remote(f"{scheme}://", segments)


def _from_scp(host: str, path: str) -> Remote:
    """Return the remote of `host:path`, `[host:port]:path` or `[::1]:path`. Git does not decode %XX in this form."""
    if _PASSWORD_IN_SCP_PATH.match(path):
        raise _refusal("the part after the colon contains an @", hint="Write user@host:path, without a password.")
    host_port = host.removeprefix("[").removesuffix("]").rpartition("@")[2]
    if host_port.count(":") > 1:
        host_port = f"[{host_port}]"
    return _network_remote("ssh", host_port, path)


def _network_remote(scheme: str, host_port: str, path: str) -> Remote:
    host, port = _split_host_and_port(host_port)
    host = _usual_host_name(host)
    segments = _split_path(path, climbs=False)
    if scheme in _SSH and segments[:1] == ["~"]:
        del segments[0]  # ssh://host/~/vc is host:vc
    if host in _FOLDS_CASE:
        segments = [segment.lower() for segment in segments]
    host, segments = _unify_azure(host, _without_git_suffix(segments))
    return _build_remote(f"{host}{_port_in_key(scheme, host, port)}/", segments)


def _local_remote(path: str) -> Remote:
    return _build_remote("file:/", _without_git_suffix(_split_path(path)))


def _build_remote(prefix: str, segments: list[str]) -> Remote:
    if not segments or segments[-1] in {".", ".."}:
        raise _refusal("it names no repository")
    if any(_CONTROL.search(segment) for segment in segments):
        raise _refusal("it contains control characters")
    if any(_PASSWORD_IN_SEGMENT.match(segment) for segment in segments):
        raise _refusal("its path contains a password")
    return Remote(prefix + "/".join(_quote(segments)), segments[-1])


def _split_host_and_port(host_port: str) -> tuple[str, int | None]:
    found = _HOST_PORT.fullmatch(host_port)
    port = int(found[2]) if found and found[2] else None
    if not found or (port is not None and not 0 < port < 65536):
        raise _refusal("its port is not a port number", hint="Write user@host:path or ssh://user@host/path.")
    if six := _IPV6.fullmatch(found[1]):
        return _normalize_ipv6(six[1]), port
    host = _encode_host(found[1]).lower().removesuffix(".")
    if not _HOST.fullmatch(host):
        raise _refusal("its host is not a valid host name")
    return host, port


def _normalize_ipv6(text: str) -> str:
    try:
        return f"[{ipaddress.IPv6Address(text).compressed}]"
    except ValueError:
        raise _refusal("its host is not an IPv6 address") from None


def _encode_host(host: str) -> str:
    if host.isascii():
        return host
    try:
        return host.encode("idna").decode("ascii")
    except UnicodeError:
        raise _refusal("its host is not a valid host name") from None


def _usual_host_name(host: str) -> str:
    # Guides recommend ssh hosts such as `github.com-work` for a second account. No real host has such a name.
    for forge in FORGE_HOSTS:
        if host.startswith(f"{forge}-"):
            return forge
    return _ALIASES.get(host, host)


def _port_in_key(scheme: str, host: str, port: int | None) -> str:
    """Return the port for the key, if the port identifies the server; else an empty text.

    An ssh port does not identify the server. The port changes with the network, `git@host:a/b` may get its port from
    ~/.ssh/config, and the same forge answers https without the port. On this machine itself each ssh port is another
    tunnel or container, so it counts. An http or git port is part of the server's name.
    """
    default = _DEFAULT_PORTS.get(scheme, 22)
    is_loopback = host in {"localhost", "[::1]"} or host.startswith("127.")
    if port is None or port == default or (scheme in _SSH and not is_loopback):
        return ""
    return f":{port}"


def _unify_azure(host: str, segments: list[str]) -> tuple[str, list[str]]:
    """Return dev.azure.com/org/project/repo for each of the three addresses of a repository on Azure DevOps."""
    if host in {"ssh.dev.azure.com", "vs-ssh.visualstudio.com"}:
        segments = segments[1:]  # v3
    elif host.endswith(".visualstudio.com"):
        segments = [host.partition(".")[0], *segments]
    elif host != "dev.azure.com":
        return host, segments
    folded = [segment.lower() for segment in segments]
    parts = [segment for segment in folded if segment not in {"_git", "defaultcollection"}]
    if len(parts) == 2:
        parts.append(parts[1])  # an address may leave out the first repository, which has its project's name
    return "dev.azure.com", parts


def _split_path(path: str, *, climbs: bool = True) -> list[str]:
    """Return the segments of a path without empty segments and dots.

    With `climbs`, `..` at the root stays at the root.
    """
    found: list[str] = []
    for segment in path.split("/"):
        if segment == "..":
            if not found and not climbs:
                raise _refusal("its path leads above the root")
            del found[-1:]
        elif segment not in {"", "."}:
            found.append(segment)
    return found


def _without_git_suffix(segments: list[str]) -> list[str]:
    """Return the segments without the suffix: both `vc.git` and `vc/.git` become `vc`."""
    if not segments:
        return segments
    last = segments[-1].removesuffix(".git")
    return [*segments[:-1], last] if last else segments[:-1]


def _normalize_scheme(written: str) -> str:
    return written.lower().removeprefix("git+")


def _decode(text: str) -> str:
    return unquote(text, errors="surrogateescape")


def _quote(segments: list[str]) -> list[str]:
    # ASCII only: keys compare byte by byte, no two keys look alike, and no key contains the `#` of a task reference.
    return [quote(segment, safe="@:+,=", errors="surrogateescape") for segment in segments]


def _refusal(why: str, *, hint: str = _REMOTE_HINT) -> Invalid:
    return Invalid(f"The address of a git remote cannot be read: {why}.", hint=hint)
