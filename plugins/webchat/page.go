package main

import (
	"embed"
	"io/fs"
	"net/http"
)

//go:embed page
var pageFiles embed.FS

// page serves the files of the chat page. They hold no data and need no token.
func page() http.Handler {
	files, err := fs.Sub(pageFiles, "page")
	if err != nil {
		panic(err) // the folder is named in this file
	}
	mux := http.NewServeMux()
	mux.Handle("GET /", http.FileServerFS(files))
	return mux
}
