"""Personal data and secrets out of logs, before anything is shown, stored or judged."""
