"""Test the connection to a socket whose path is too long for a socket address, with both clients."""

import os


def test_a_data_directory_with_a_long_path_is_reached_and_relative_paths_stay_valid(client, home):
    deep = home.joinpath(*["a-rather-long-name-of-a-directory"] * 8)
    deep.mkdir(parents=True)
    assert len(str(deep)) > 200
    (home / "short").symlink_to(deep)
    (home / "note").write_text("from here")
    got = []

    def script(connection, request):
        got.append((request.directory, connection.request_input(b"F", b"note")))
        connection.send_exit()

    client.env["MAESTRO_HOME"] = str(home / "short")
    with client.serve(script):
        assert client.run("x", env={"MAESTRO_HOME": str(deep)}, cwd=home).returncode == 0
    assert got == [(os.fsencode(home), b"from here")]


def test_a_socket_whose_bare_name_is_too_long_is_refused(client, home):
    ran = client.run("x", env={"MAESTRO_SOCKET": f"{home}/{'s' * 120}"})
    assert ran.returncode == 8
    assert b"the socket's name is longer than 103 bytes" in ran.stderr
