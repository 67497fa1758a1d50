"""Issues: requests of a project to another project, from opening to closing."""
