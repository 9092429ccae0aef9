package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"github.com/clawhost/clawhost/core/internal/operate/admin"
)

// browserWait is how long a browser may take to ask for the page.
const browserWait = 20 * time.Second

// open is the command that shows a plugin's page, such as the web chat: it prints the link, and opens it in a browser if there is one.
func (a *app) open() *cobra.Command {
	var printOnly bool
	c := a.command("open [NAME]", "Open the web chat, or another plugin's page, and print its link, which is a secret", `
clawhost open
clawhost open -print`, func(ctx context.Context, args []string) error {
		link, err := a.link(ctx, args)
		if err != nil {
			return err
		}
		if a.json {
			return a.print(link)
		}
		fmt.Fprintln(a.out, printable(link.Link))
		browser := a.browser()
		if printOnly || browser == "" {
			return nil
		}
		return browse(ctx, browser, link.Link)
	})
	c.Flags().BoolVar(&printOnly, "print", false, "only print the link")
	return a.completes(linkNames, c)
}

// link returns the link of the plugin that has one, or of the named one.
func (a *app) link(ctx context.Context, args []string) (admin.Link, error) {
	if len(args) > 1 {
		return admin.Link{}, usage("open takes at most one name")
	}
	client, err := a.client()
	if err != nil {
		return admin.Link{}, err
	}
	links, err := client.Links(ctx)
	if err != nil {
		return admin.Link{}, err
	}
	var names []string
	for _, l := range links {
		names = append(names, l.Name)
	}
	if len(args) == 1 {
		links = slices.DeleteFunc(links, func(l admin.Link) bool { return l.Name != args[0] })
	}
	switch {
	case len(names) == 0:
		return admin.Link{}, errors.New("no plugin has a link; `clawhost plugin list` shows which plugins run")
	case len(links) == 0:
		return admin.Link{}, fmt.Errorf("no plugin %q has a link; there are %s", args[0], strings.Join(names, ", "))
	case len(links) > 1:
		return admin.Link{}, usage("several plugins have a link; name one of %s", strings.Join(names, ", "))
	}
	return links[0], nil
}

// browser returns the program that opens pages; empty: there is none, or nobody sits at this terminal.
func (a *app) browser() string {
	if named := os.Getenv("BROWSER"); named != "" {
		return named
	}
	opener := "xdg-open"
	if runtime.GOOS == "darwin" {
		opener = "open"
	} else if os.Getenv("DISPLAY") == "" && os.Getenv("WAYLAND_DISPLAY") == "" {
		return ""
	}
	path, err := exec.LookPath(opener)
	if err != nil || !isTerminal(a.out) {
		return ""
	}
	return path
}

// browse lets a browser open a link without naming it in the browser's arguments, which other users can read: they name a page of this
// process that leads to the link, once.
func browse(ctx context.Context, browser, link string) error {
	ctx, cancel := context.WithTimeout(ctx, browserWait)
	defer cancel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("open a browser: %w", err)
	}
	path, asked := "/"+rand.Text(), make(chan struct{}, 1)
	var once atomic.Bool
	pages := http.NewServeMux()
	pages.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) {
		if once.Swap(true) {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Referrer-Policy", "no-referrer")
		w.Header().Set("Cache-Control", "no-store")
		http.Redirect(w, r, link, http.StatusFound)
		asked <- struct{}{}
	})
	server := &http.Server{Handler: pages, ReadHeaderTimeout: browserWait}
	var serving sync.WaitGroup
	serving.Go(func() { _ = server.Serve(listener) }) // until Shutdown
	defer serving.Wait()
	defer func() { _ = server.Shutdown(context.WithoutCancel(ctx)) }()                             // it waits for the answer to be sent
	if err := exec.Command(browser, "http://"+listener.Addr().String()+path).Start(); err != nil { // it outlives this process
		return fmt.Errorf("open a browser: %w", err)
	}
	select {
	case <-asked:
		return nil
	case <-ctx.Done():
		return errors.New("no browser asked for the page; open the link yourself")
	}
}
