// Package crashpoint names the places at which the crash tests end the host: behind each step that is durable, before anybody knows
// of it. They exist only in a build with the tag crashpoints.
package crashpoint
