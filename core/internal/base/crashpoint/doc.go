// Package crashpoint names the places at which crash tests kill the host: after each durable step, before anybody is
// notified. They exist only in a build with the tag crashpoints.
package crashpoint
