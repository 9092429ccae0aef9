// Package dedupe remembers by their keys which events were accepted and what was posted, so that neither happens twice.
package dedupe
