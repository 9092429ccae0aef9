package main

import (
	"net/http"
	"strings"
)

// guard refuses requests that are not from a page of this server. With DNS rebinding, the Host header has the attacker's
// name; with a page of another site, the Origin header is that site's.
//
// The page redirects from the alias to the authority: a name may resolve to several addresses, and another process may listen
// on another of them.
func guard(authority, alias string, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; "+
			"media-src blob:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("X-Frame-Options", "DENY")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Permissions-Policy", "camera=(), geolocation=(), microphone=()")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Cache-Control", "no-store")
		if r.Host == alias && r.Method == http.MethodGet && !strings.HasPrefix(r.URL.Path, "/api/") {
			h.Set("Location", "http://"+authority+"/") // a browser keeps the part behind "#"
			w.WriteHeader(http.StatusTemporaryRedirect)
			return
		}
		if r.Host != authority {
			refuse(w, http.StatusForbidden, "Open the web chat at http://"+authority+"/.")
			return
		}
		if origin := r.Header.Get("Origin"); origin != "" && origin != "http://"+r.Host {
			refuse(w, http.StatusForbidden, "This request comes from another page.")
			return
		}
		next.ServeHTTP(w, r)
	})
}
