// SPDX-License-Identifier: Apache-2.0

package signaling

import (
	"fmt"
	"io/fs"
	"net/http"
	"path"
	"strconv"
)

const (
	indexFile    = "index.html"
	assetsFolder = "assets"
)

// contentTypes are those of the files that a page is built into. Another kind is a build error.
var contentTypes = map[string]string{
	".css":   "text/css; charset=utf-8",
	".html":  "text/html; charset=utf-8",
	".js":    "text/javascript; charset=utf-8",
	".json":  "application/json",
	".map":   "application/json",
	".png":   "image/png",
	".svg":   "image/svg+xml",
	".txt":   "text/plain; charset=utf-8",
	".wasm":  "application/wasm",
	".woff2": "font/woff2",
}

type file struct {
	content []byte
	kind    string
	cache   string
}

// app is the page, held in memory by its paths: what is not in the table does not exist, so no path can
// lead anywhere else.
type app map[string]file

// loadApp reads index.html and everything in assets, whose names change with their content.
func loadApp(built fs.FS) (app, error) {
	index, err := fs.ReadFile(built, indexFile)
	if err != nil {
		return nil, fmt.Errorf("load the page: %w", err)
	}
	a := app{"/": {index, contentTypes[".html"], "no-store"}}
	if _, err := fs.Stat(built, assetsFolder); err != nil {
		return a, nil // a page without assets is a page
	}
	err = fs.WalkDir(built, assetsFolder, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		kind, known := contentTypes[path.Ext(name)]
		if !known {
			return fmt.Errorf("%s: unknown kind of file", name)
		}
		content, err := fs.ReadFile(built, name)
		a["/"+name] = file{content, kind, "public, max-age=31536000, immutable"}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("load the page: %w", err)
	}
	return a, nil
}

func (f file) serve(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	protect(h, r.Host)
	h.Set("Content-Type", f.kind)
	h.Set("Content-Length", strconv.Itoa(len(f.content)))
	h.Set("Cache-Control", f.cache)
	if r.Method == http.MethodGet {
		_, _ = w.Write(f.content) // an error is the browser's leaving
	}
}

// protect sets what bounds a page of ours in the browser, whatever gets into it: nothing is loaded from
// elsewhere, nothing is sent elsewhere, and no other page may frame or open it as its own.
func protect(h http.Header, host string) {
	h.Set("Content-Security-Policy", "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; "+
		"connect-src 'self' ws://"+host+" wss://"+host+"; frame-ancestors 'none'; base-uri 'none'; form-action 'none'")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
}

// refuse gives every stranger the same answer, whatever was asked for and why it is refused.
func refuse(w http.ResponseWriter) {
	h := w.Header()
	h.Set("Content-Type", "text/plain; charset=utf-8")
	h.Set("Cache-Control", "no-store")
	h.Set("Connection", "close")
	w.WriteHeader(http.StatusForbidden)
	_, _ = w.Write([]byte("refused\n"))
}
