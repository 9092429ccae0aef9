// Package page is the page on which an operator sees the state of the host: its files, and the sessions of the browsers that have
// logged in to it. What the page shows and does, it asks of the routes of the package admin.
package page

import (
	"embed"
	"io/fs"
	"net/http"
)

//go:embed files
var embedded embed.FS

// policy lets the page load nothing but its own files, be shown in no frame, and run no script within its text.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; " +
	"form-action 'none'; base-uri 'none'; frame-ancestors 'none'"

// Files serves the files of the page: index.html at /, and the others below /page/. They contain no data and need no session.
func Files() http.Handler {
	files, err := fs.Sub(embedded, "files")
	if err != nil {
		panic(err) // the folder is embedded above
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, r *http.Request) { http.ServeFileFS(w, r, files, "index.html") })
	mux.HandleFunc("GET /page/{file}", func(w http.ResponseWriter, r *http.Request) { http.ServeFileFS(w, r, files, r.PathValue("file")) })
	return protected(mux, "no-cache")
}

// Data protects answers with data for the page as its files are protected, and keeps them out of caches.
func Data(next http.Handler) http.Handler { return protected(next, "no-store") }

func protected(next http.Handler, cache string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("X-Frame-Options", "DENY")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Cache-Control", cache)
		next.ServeHTTP(w, r)
	})
}
