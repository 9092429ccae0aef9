package main

import "time"

// pace is how patient a channel is.
type pace struct {
	first, last time.Duration // the pause before it connects again; it doubles while it is in vain
	login       time.Duration // that a connection may take until the account is logged in
	settle      time.Duration // that WhatsApp may take to end the connection on which a device was paired
	look        time.Duration // between two looks at whether the connection is still there
	blip        time.Duration // that what is to be sent waits for a connection
	album       time.Duration // that an album waits for its next file
	albumWhole  time.Duration // that it waits for all of them
}

func usualPace() pace {
	return pace{
		first: 500 * time.Millisecond, last: 2 * time.Minute, login: 20 * time.Second, settle: 10 * time.Second,
		look: 5 * time.Second, blip: 3 * time.Second, album: 10 * time.Second, albumWhole: time.Minute,
	}
}
