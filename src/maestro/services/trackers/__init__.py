"""Synchronise the issues of projects with their trackers, in the background: mail never waits for a tracker."""
