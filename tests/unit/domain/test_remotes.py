"""All spellings of a git remote give the same key: a table of real spellings, and properties with random remotes."""

from __future__ import annotations

import random
import string
from urllib.parse import quote

import msgspec
import pytest
from hypothesis import assume, example, given, note, settings
from hypothesis import strategies as st

from maestro.core.errors import Invalid
from maestro.domain import remotes
from maestro.domain.remotes import canonical_remote

VC = "github.com/steveyegge/vc"

SPELLINGS = [
    # the same repository on a forge
    ("git@github.com:steveyegge/vc.git", VC),
    ("git@github.com:steveyegge/vc", VC),
    ("git@github.com:/steveyegge/vc.git", VC),
    ("git@github.com:steveyegge/vc.git/", VC),
    ("github.com:steveyegge/vc.git", VC),
    ("[git@github.com:443]:steveyegge/vc.git", VC),
    ("git@[github.com:22]:steveyegge/vc.git", VC),
    ("ssh://git@github.com/steveyegge/vc.git", VC),
    ("ssh://github.com/steveyegge/vc", VC),
    ("ssh://git@github.com:22/steveyegge/vc.git", VC),
    ("ssh://git:secret@github.com/steveyegge/vc.git", VC),
    ("ssh://git@github.com:/steveyegge/vc.git", VC),
    ("git+ssh://git@github.com/steveyegge/vc.git", VC),
    ("ssh+git://git@github.com/steveyegge/vc.git", VC),
    ("ssh://git@ssh.github.com:443/steveyegge/vc.git", VC),
    ("git@ssh.github.com:steveyegge/vc.git", VC),
    ("git@github.com-work:steveyegge/vc.git", VC),
    ("https://github.com/steveyegge/vc.git", VC),
    ("https://github.com/steveyegge/vc", VC),
    ("https://github.com/steveyegge/vc/", VC),
    ("https://github.com/steveyegge/vc.git///", VC),
    ("https://github.com//steveyegge//vc.git", VC),
    ("https://github.com/steveyegge/./x/../vc.git", VC),
    ("https://github.com:443/steveyegge/vc.git", VC),
    ("https://github.com:/steveyegge/vc.git", VC),
    ("http://github.com/steveyegge/vc.git", VC),
    ("http://github.com:80/steveyegge/vc.git", VC),
    ("git://github.com/steveyegge/vc.git", VC),
    ("git://github.com:9418/steveyegge/vc.git", VC),
    ("git+https://github.com/steveyegge/vc.git", VC),
    ("HTTPS://GitHub.com/SteveYegge/VC.git", VC),
    ("git@GITHUB.COM:SteveYegge/vc.GIT", VC),
    ("https://www.github.com/steveyegge/vc", VC),
    ("https://github.com./steveyegge/vc", VC),
    ("https://dave@github.com/steveyegge/vc.git", VC),
    ("https://dave:secret@github.com/steveyegge/vc.git", VC),
    ("https://dave:s@cr@t@github.com/steveyegge/vc.git", VC),
    ("https://x-access-token:secret@github.com/steveyegge/vc.git", VC),
    ("https://github.com/steveyegge%2Fvc.git", VC),
    ("https://github.com/steveyegge/%76%63.git", VC),
    ("  https://github.com/steveyegge/vc.git\n", VC),
    # other forges
    ("git@gitlab.com:group/sub/deeper/vc.git", "gitlab.com/group/sub/deeper/vc"),
    ("https://gitlab.com/Group/Sub/deeper/VC", "gitlab.com/group/sub/deeper/vc"),
    ("ssh://git@altssh.gitlab.com:443/group/vc.git", "gitlab.com/group/vc"),
    ("git@altssh.bitbucket.org:team/vc.git", "bitbucket.org/team/vc"),
    ("https://dave@bitbucket.org/Team/vc.git", "bitbucket.org/team/vc"),
    ("ssh://git@codeberg.org/Dave/vc.git", "codeberg.org/dave/vc"),
    ("https://git.sr.ht/~sircmpwn/vc", "git.sr.ht/~sircmpwn/vc"),
    ("git@git.sr.ht:~sircmpwn/vc", "git.sr.ht/~sircmpwn/vc"),
    ("https://github.com/steveyegge/vc.wiki.git", "github.com/steveyegge/vc.wiki"),
    # Azure DevOps
    ("https://acme@dev.azure.com/acme/Widgets/_git/vc", "dev.azure.com/acme/widgets/vc"),
    ("git@ssh.dev.azure.com:v3/acme/Widgets/vc", "dev.azure.com/acme/widgets/vc"),
    ("acme@vs-ssh.visualstudio.com:v3/acme/Widgets/vc", "dev.azure.com/acme/widgets/vc"),
    ("https://acme.visualstudio.com/Widgets/_git/vc", "dev.azure.com/acme/widgets/vc"),
    ("https://acme.visualstudio.com/DefaultCollection/Widgets/_git/vc", "dev.azure.com/acme/widgets/vc"),
    ("https://dev.azure.com/acme/_git/vc", "dev.azure.com/acme/vc/vc"),
    ("https://dev.azure.com/acme/My%20Project/_git/vc", "dev.azure.com/acme/my%20project/vc"),
    # self-hosted servers: the key keeps case and other ports, but no ssh port
    ("git@git.example.com:Team/VC.git", "git.example.com/Team/VC"),
    ("https://Git.Example.COM/Team/VC.git", "git.example.com/Team/VC"),
    ("ssh://git@git.example.com:2222/Team/VC.git", "git.example.com/Team/VC"),
    ("[git@git.example.com:2222]:Team/VC.git", "git.example.com/Team/VC"),
    ("https://git.example.com:8443/Team/VC.git", "git.example.com:8443/Team/VC"),
    ("http://git.example.com:8443/Team/VC", "git.example.com:8443/Team/VC"),
    ("git://git.example.com:9000/vc", "git.example.com:9000/vc"),
    ("http://git.example.com:443/vc", "git.example.com:443/vc"),
    ("box:vc", "box/vc"),
    ("dave@box:vc.git", "box/vc"),
    ("box:~/vc.git", "box/vc"),
    ("ssh://dave@box/~/vc.git", "box/vc"),
    ("ssh://dave@box/~dave/vc.git", "box/~dave/vc"),
    ("box:/srv/git/vc.git", "box/srv/git/vc"),
    ("ssh://box/srv/git/vc.git", "box/srv/git/vc"),
    ("my_host:vc", "my_host/vc"),
    ("ssh://git@localhost:2222/dave/vc.git", "localhost:2222/dave/vc"),
    ("ssh://git@127.0.0.1:2222/dave/vc.git", "127.0.0.1:2222/dave/vc"),
    ("ssh://git@localhost/dave/vc.git", "localhost/dave/vc"),
    ("https://192.0.2.7/dave/vc.git", "192.0.2.7/dave/vc"),
    ("ssh://git@[2001:DB8::0:1]:2222/vc.git", "[2001:db8::1]/vc"),
    ("git@[2001:db8::1]:vc.git", "[2001:db8::1]/vc"),
    ("[2001:db8:0:0::1]:vc.git", "[2001:db8::1]/vc"),
    ("https://[2001:db8::1]:8443/vc.git", "[2001:db8::1]:8443/vc"),
    ("ssh://git@[::1]:2222/vc.git", "[::1]:2222/vc"),
    ("https://bücher.example/vc", "xn--bcher-kva.example/vc"),
    ("https://xn--bcher-kva.example/vc", "xn--bcher-kva.example/vc"),
    # characters in paths: URLs are decoded, scp-like addresses are not
    ("https://git.example.com/my%20group/vc", "git.example.com/my%20group/vc"),
    ("git@git.example.com:my group/vc", "git.example.com/my%20group/vc"),
    ("git@git.example.com:my%20group/vc", "git.example.com/my%2520group/vc"),
    ("https://git.example.com/gr%C3%BCn/vc", "git.example.com/gr%C3%BCn/vc"),
    ("https://git.example.com/grün/vc", "git.example.com/gr%C3%BCn/vc"),
    ("ssh://git.example.com/%ff/vc", "git.example.com/%FF/vc"),
    ("https://git.example.com/100%/vc", "git.example.com/100%25/vc"),
    ("https://git.example.com/@dave/vc", "git.example.com/@dave/vc"),
    ("git@git.example.com:c#/vc", "git.example.com/c%23/vc"),
    ("https://git.example.com/vc.git.git", "git.example.com/vc.git"),
    ("https://git.example.com/group/.git", "git.example.com/group"),
    # file systems
    ("/srv/git/vc.git", "file:/srv/git/vc"),
    ("/srv/git/vc", "file:/srv/git/vc"),
    ("/srv/git/vc/.git", "file:/srv/git/vc"),
    ("/srv//git/./x/../vc.git/", "file:/srv/git/vc"),
    ("file:///srv/git/vc.git", "file:/srv/git/vc"),
    ("file://localhost/srv/git/vc.git", "file:/srv/git/vc"),
    ("FILE:///srv/git/v%63", "file:/srv/git/vc"),
    ("../vc.git", "file:/home/dave/vc"),
    ("./vc", "file:/home/dave/src/vc"),
    ("vc", "file:/home/dave/src/vc"),
    ("./host:vc", "file:/home/dave/src/host:vc"),
    ("/srv/a:b/vc", "file:/srv/a:b/vc"),
    ("/../../srv/vc", "file:/srv/vc"),
    ("/srv/my repos/vc", "file:/srv/my%20repos/vc"),
    ("/srv/my%20repos/vc", "file:/srv/my%2520repos/vc"),
    # other programs' schemes and helpers
    ("codecommit::eu-west-1://profile@vc", "git-codecommit.eu-west-1.amazonaws.com/v1/repos/vc"),
    (
        "ssh://APKA123@git-codecommit.eu-west-1.amazonaws.com/v1/repos/vc",
        "git-codecommit.eu-west-1.amazonaws.com/v1/repos/vc",
    ),
    ("codecommit://profile@vc", "codecommit://vc"),
    ("keybase://private/dave/vc", "keybase://private/dave/vc"),
    ("hg::https://user:secret@hg.example.com/vc", "hg::hg.example.com/vc"),
    ("gcrypt::git@github.com:steveyegge/vc.git", f"gcrypt::{VC}"),
]


@pytest.mark.parametrize(("url", "key"), SPELLINGS)
def test_every_spelling_of_a_remote_gives_its_key(url: str, key: str) -> None:
    assert canonical_remote(url, base="/home/dave/src").key == key


@pytest.mark.parametrize("url", [url for url, _ in SPELLINGS])
def test_no_key_contains_a_secret_of_the_address(url: str) -> None:
    clean = remotes.remove_secrets(url)
    assert "secret" not in canonical_remote(url).key + clean
    assert canonical_remote(clean) == canonical_remote(url)


REFUSED = [
    "",
    "   ",
    "https://",
    "https://github.com",
    "https://github.com/",
    "https://github.com/.git",
    "git@github.com:",
    "git@github.com:.git",
    "https:///steveyegge/vc",
    "ssh://git@github.com:steveyegge/vc.git",
    "https://host:99999/vc",
    "https://host:0/vc",
    "https://host:-1/vc",
    "https://user:secret/more@host/vc",
    "https://user:22/secret@host/vc",
    "user:secret@host:vc",
    "user:sec/secret@host:vc",
    "user:secret@host/vc",
    "https:/user:secret@host/vc",
    "//user:secret@host/vc",
    "./https://user:secret@host/vc",
    "https://host/vc?private_token=secret",
    "https://host/vc#secret",
    "https://user:secret?x@host/vc",
    "https://-oProxyCommand=secret/vc",
    "ssh://-oProxyCommand=secret/vc",
    "-oProxyCommand=secret:vc",
    "https://ho st/vc",
    "https://host..example/vc",
    "https://[::1/vc",
    "https://[nonsense]/vc",
    "https://[fe80::1%25eth0]/vc",
    "https://[:::1]/vc",
    "host:../vc",
    "https://host/../vc",
    "https://host/%2e%2e/vc",
    "https://host/..git",
    "https://host/...git",
    "https://host/v%00c",
    "https://host/v%0ac",
    "host:v\x1bc",
    "/srv/v\x00c",
    "/",
    "file:///",
    "file://host",
    "ext::ssh -i secret git@host %S vc",
    "fd::17",
    "hg::",
    "one::two::https://host/vc",
    "https://host/" + "v" * 5000,
    "https://host/\ud800",
    "https://" + "ü" * 70 + ".example/vc",
]


@pytest.mark.parametrize("url", REFUSED)
def test_an_invalid_remote_is_refused_with_a_message_that_does_not_quote_it(url: str) -> None:
    with pytest.raises(Invalid) as refused:
        canonical_remote(url)
    assert refused.value.hint
    assert "secret" not in str(refused.value.as_dict())
    assert refused.value.__cause__ is None
    assert remotes.remove_secrets(url) == ""


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("git@github.com:dave/vc", "git@github.com:fred/vc"),
        ("git@github.com:dave/vc", "git@gitlab.com:dave/vc"),
        ("git@github.com:dave/vc", "git@github.com:dave/vc2"),
        ("git@gitlab.com:a/b/vc", "git@gitlab.com:a/vc"),
        ("https://git.example.com/Team/vc", "https://git.example.com/team/vc"),
        ("https://git.example.com:8443/vc", "https://git.example.com:9443/vc"),
        ("ssh://localhost:2222/vc", "ssh://localhost:2223/vc"),
        ("/srv/git/vc", "box:/srv/git/vc"),
        ("/srv/git/vc", "/srv/git/vc/vc"),
        ("/srv/git/a%2Fb", "/srv/git/a/b"),
        ("s3://bucket/vc", "https://bucket/vc"),
        ("s3://bucket/vc", "https://s3/bucket/vc"),
        ("hg::https://host/vc", "https://host/vc"),
        ("https://github.company.com/dave/vc", "https://github.com/dave/vc"),
        ("https://notgithub.com/dave/vc", "https://github.com/dave/vc"),
    ],
)
def test_two_different_remotes_have_different_keys(one: str, other: str) -> None:
    assert canonical_remote(one).key != canonical_remote(other).key


@pytest.mark.parametrize(
    ("url", "name"),
    [
        ("git@github.com:steveyegge/vc.git", "vc"),
        ("https://git.example.com/Team/My%20Repo.git", "My Repo"),
        ("/srv/git/vc.git", "vc"),
        ("box:vc", "vc"),
        ("codecommit::eu-west-1://profile@vc", "vc"),
    ],
)
def test_the_name_of_a_remote_is_the_last_segment_of_its_path(url: str, name: str) -> None:
    assert canonical_remote(url).name == name


@pytest.mark.parametrize(
    ("url", "clean"),
    [
        ("https://dave:secret@host/vc.git", "https://host/vc.git"),
        ("https://secret@host/vc.git", "https://host/vc.git"),
        ("ssh://dave:secret@host:2222/vc.git", "ssh://dave@host:2222/vc.git"),
        ("dave@host:vc.git", "dave@host:vc.git"),
        ("../vc.git", "../vc.git"),
        ("hg::https://dave:secret@host/vc", "hg::https://host/vc"),
    ],
)
def test_secrets_are_removed_from_an_address(url: str, clean: str) -> None:
    assert remotes.remove_secrets(url) == clean


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        ("unable to access 'https://dave:secret@host/vc/': refused", "unable to access 'https://host/vc/': refused"),
        ("ssh://secret@host/vc and https://a:secret/b@host", "ssh://host/vc and https://host"),
        ("'//dave:secret@host/vc' does not exist", "'//host/vc' does not exist"),
        ("git@github.com: Permission denied (a@b.example)", "git@github.com: Permission denied (a@b.example)"),
    ],
)
def test_secrets_are_removed_from_addresses_in_free_text(said: str, kept: str) -> None:
    assert remotes.redact_addresses(said) == kept


@pytest.mark.parametrize(
    ("url", "dialled"),
    [
        ("git@work:dave/vc", "git@github.com:dave/vc"),
        ("Work:dave/vc", "github.com:dave/vc"),
        ("ssh://git@work:22/dave/vc", "ssh://git@github.com:22/dave/vc"),
        ("ssh://work/dave/vc", "ssh://github.com/dave/vc"),
        ("https://work/dave/vc", "https://work/dave/vc"),
        ("git@other:dave/vc", "git@other:dave/vc"),
        ("work/vc", "work/vc"),
        ("/work:x/vc", "/work:x/vc"),
        ("work::vc", "work::vc"),
        ("[::1]:vc", "[::1]:vc"),
    ],
)
def test_an_ssh_host_alias_is_replaced_only_in_ssh_addresses(url: str, dialled: str) -> None:
    assert remotes.replace_ssh_hosts(url, {"work": "github.com"}) == dialled


# The expected keys come from a `Place`, not from its address: `rendered` writes a place as an address in many ways.


def parts(text: str) -> tuple[str, ...]:
    stripped = [part.strip() for part in text.split("/")]
    return tuple(part for part in stripped if not part.endswith(".git") and part.strip(".~"))


# One draw for a whole path: a draw for each segment would be slow.
PATH = st.text(string.ascii_letters + string.digits + "//// %+~@#?ü漢._-", min_size=1, max_size=24).map(parts)
PATH = PATH.filter(bool)
LABEL = st.text(string.ascii_lowercase + string.digits, min_size=1, max_size=8)
HOST = st.one_of(
    st.sampled_from(["github.com", "gitlab.com", "bitbucket.org", "git.example.com", "box"]),
    st.builds("{}.{}.example".format, LABEL, LABEL),
)
FORGE_HOSTS = {"github.com", "gitlab.com", "bitbucket.org"}


class Place(msgspec.Struct, frozen=True):
    host: str
    web_port: int | None
    path: tuple[str, ...]

    @property
    def expected(self) -> tuple[str, int | None, tuple[str, ...]]:
        path = tuple(part.lower() for part in self.path) if self.host in FORGE_HOSTS else self.path
        return self.host, self.web_port, path

    @property
    def key(self) -> str:
        host, port, path = self.expected
        server = host if port is None else f"{host}:{port}"
        return "/".join([server, *(quote(part, safe="@:+,=") for part in path)])


PLACE = st.builds(
    Place,
    host=HOST,
    web_port=st.one_of(st.none(), st.integers(1024, 9000)),
    path=PATH,
)


SECRET = "ghp-S3cr3tT0k3nThatNoHostOrPathHas"


def rendered(place: Place, seed: int) -> str:
    """Return one of the usual spellings of the place."""
    choose = random.Random(seed).choice
    host = choose([place.host, place.host.upper(), place.host.title()])
    slashes = choose(["/", "//", "/./", "/x/../"])
    ending = choose(["", ".git", "/", ".git/", ".git//", "/.git"])
    if place.web_port is None and "@" not in place.path[0] and choose([True, False]):
        raw = slashes.join(place.path)
        return f"{choose(['', 'git@', 'dave@'])}{host}:{choose(['', '/'])}{raw}{ending}"
    encoded = slashes.join(quote(part, safe="") for part in place.path)
    ports = {"https": ":443", "http": ":80", "git": ":9418"}
    if place.web_port is None:
        ports["ssh"] = f":{choose(range(1, 65536))}"
    scheme = choose(sorted(ports))
    port = choose(["", ports[scheme]]) if place.web_port is None else f":{place.web_port}"
    # in an HTTP address the user name may be the token
    named = f"{SECRET}@" if scheme != "ssh" else "git@"
    user = choose(["", named, f"dave:{SECRET}@", f"dave:{SECRET}@x@"])
    return f"{choose([scheme, scheme.upper()])}://{user}{host}{port}/{encoded}{ending}"


def neighbour(one: Place, other: Place, seed: int) -> Place:
    """Return `other`, or `one` with a single change; similar places are the harder case."""
    change = msgspec.structs.replace
    return random.Random(seed).choice(
        [
            other,
            change(one, host=other.host),
            change(one, web_port=other.web_port),
            change(one, path=(*one.path[:-1], other.path[-1])),
            change(one, path=one.path + other.path),
            change(one, path=tuple(part.swapcase() for part in one.path)),
        ]
    )


SEED = st.integers(0, 2**32)


@settings(max_examples=2_000, deadline=None)
@given(PLACE, SEED)
def test_a_random_spelling_of_a_place_gives_the_expected_key(place: Place, seed: int) -> None:
    url = rendered(place, seed)
    note(url)
    found = canonical_remote(url)
    assert found.key == place.key
    assert SECRET not in remotes.remove_secrets(url)
    assert canonical_remote(remotes.remove_secrets(url)) == found


@settings(max_examples=2_000, deadline=None)
@given(PLACE, PLACE, SEED)
def test_two_places_have_the_same_key_only_if_they_are_the_same_place(one: Place, other: Place, seed: int) -> None:
    other = neighbour(one, other, seed)
    urls = [rendered(one, seed), rendered(other, seed + 1)]
    note(str(urls))
    assert (canonical_remote(urls[0]).key == canonical_remote(urls[1]).key) == (one.expected == other.expected)


@settings(max_examples=1_000, deadline=None)
@given(PATH, SEED)
def test_all_spellings_of_a_local_path_give_the_same_key(path: tuple[str, ...], seed: int) -> None:
    choose = random.Random(seed).choice
    slashes = choose(["/", "//", "/./", "/x/../"])
    ending = choose(["", ".git", "/", ".git/", "/.git"])
    plain = "/" + slashes.join(path) + ending
    url = "file:///" + slashes.join(quote(part, safe="") for part in path) + ending
    relative = "../" + slashes.join(path) + ending
    expected = "file:/" + "/".join(quote(part, safe="@:+,=") for part in path)
    assert canonical_remote(plain).key == expected
    assert canonical_remote(url).key == expected
    assert canonical_remote(relative, base="/home").key == expected


@settings(max_examples=1_000, deadline=None)
@given(st.text(string.ascii_letters + string.digits + ":/@[]%.?#~ -\n\udcff\ud800", max_size=30))
@example("a" * 4097)
def test_a_random_text_gives_a_valid_key_or_is_refused(text: str) -> None:
    try:
        found = canonical_remote(text)
    except Invalid as refused:
        assert not text.strip() or text.strip() not in refused.message + refused.hint or len(text.strip()) < 8
        return
    assert found.key.isascii() and found.key.isprintable()
    assert not set(found.key) & set(" #?\\\"'")
    assert not {".", ".."} & set(found.key.split("/"))


@settings(max_examples=500, deadline=None)
@given(PLACE)
def test_a_key_that_is_written_as_an_address_gives_the_same_key(place: Place) -> None:
    key = place.key
    assume("@" not in key)  # an @ in a path is written %40 in a URL
    assert canonical_remote(f"https://{key}").key == key


def random_place(chance: random.Random, known: list[Place]) -> Place:
    """Return a random place; half of the places differ from a known place by a single change."""
    hosts = [*sorted(FORGE_HOSTS), "git.example.com", "box", f"{chance.randrange(40)}.example"]
    alphabet = string.ascii_letters + string.digits + " %+~@#?ü漢._-"
    path: tuple[str, ...] = ()
    while not path:
        path = parts("/".join("".join(chance.choices(alphabet, k=chance.randint(1, 6))) for _ in range(2)))
    fresh = Place(chance.choice(hosts), chance.choice([None, None, chance.randint(1024, 9000)]), path)
    return (
        neighbour(chance.choice(known), fresh, chance.randrange(2**32)) if known and chance.random() < 0.5 else fresh
    )


def test_ten_thousand_spellings_give_one_key_for_each_remote_and_one_remote_for_each_key() -> None:
    chance = random.Random(20260101)
    places: list[Place] = []
    while len(places) < 1_000:
        places.append(random_place(chance, places))
    keys: dict[object, str] = {}  # by the expected identity of the remote
    remotes_of: dict[str, object] = {}
    spellings = {(place, rendered(place, chance.randrange(2**32))) for place in places for _ in range(14)}
    assert len(spellings) >= 10_000
    for place, url in spellings:
        key = canonical_remote(url).key
        assert keys.setdefault(place.expected, key) == key, f"Two keys for {place}: {url!r}"
        assert remotes_of.setdefault(key, place.expected) == place.expected, f"One key for two remotes: {url!r}"
    assert len(keys) == len(remotes_of) > 500
