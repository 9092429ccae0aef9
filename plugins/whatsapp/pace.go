package main

import "time"

// pace holds the channel's timing.
type pace struct {
	first, last time.Duration // the wait before reconnecting; it doubles after failures
	login       time.Duration // maximum time from the connection to the login
	settle      time.Duration // maximum time for WhatsApp to end a pairing connection
	look        time.Duration // interval of checks of the connection
	blip        time.Duration // how long a message waits for a connection
	album       time.Duration // how long an album waits for its next file
	albumWhole  time.Duration // how long it waits for all of them
}

func usualPace() pace {
	return pace{
		first: 500 * time.Millisecond, last: 2 * time.Minute, login: 20 * time.Second, settle: 10 * time.Second,
		look: 5 * time.Second, blip: 3 * time.Second, album: 10 * time.Second, albumWhole: time.Minute,
	}
}
