"""Resources of the Agent Host Protocol: files here, files at the client, attachments."""
