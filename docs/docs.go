// Package docs holds the pages for those who use and run a host, so that its agent can look things up in them.
package docs

import "embed"

// Pages are the pages, as Markdown.
//
//go:embed configuration.md behaviour.md operations.md security.md glossary.md channels plugins
var Pages embed.FS
