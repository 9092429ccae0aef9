// Package docs embeds the documentation for users and operators of a host, so that its agent can search it, and the unit of its service.
package docs

import "embed"

// Pages has the pages, as Markdown.
//
//go:embed configuration.md behaviour.md operations.md security.md glossary.md channels plugins
var Pages embed.FS

// Unit is the unit of a host that is a service of systemd, as packages install it.
//
//go:embed clawhost.service
var Unit string
