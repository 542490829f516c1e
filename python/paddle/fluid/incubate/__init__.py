"""What Paddle 1.x kept for programs that want the newest."""
