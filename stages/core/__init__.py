"""What the stages share. Nothing here imports a stage."""
