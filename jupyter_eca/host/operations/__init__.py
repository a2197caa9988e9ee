"""What is done to a chat while no turn runs in it: pages, forks, review of changes, estimates."""
