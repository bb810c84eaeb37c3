// SPDX-License-Identifier: Apache-2.0

package texts

import (
	"fmt"
	"html"
	"strconv"
	"strings"

	"spawn/internal/sessiond/wire"
)

// A page of rows. It loads nothing and runs nothing: what a terminal showed is text in it, and the policy says so
// once more to the browser.
const (
	htmlStart = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>`
	htmlBody = `</title>
<style>
body { background: #1e1e1e; color: #d4d4d4 }
pre { font-family: monospace; line-height: 1.2 }
</style>
</head>
<body>
<pre>
`
	htmlTail = `</pre>
</body>
</html>
`
	// pageForeground and pageBackground are what the colours of the style above are called where they swap.
	pageForeground = "#d4d4d4"
	pageBackground = "#1e1e1e"
)

// htmlHead has the terminal's title, which a program chose: no character in it can turn the text around or hide.
func htmlHead(shot wire.Capture) string {
	title := strings.Map(func(r rune) rune {
		if !strconv.IsGraphic(r) {
			return -1
		}
		return r
	}, shot.Title)
	return htmlStart + html.EscapeString(title) + htmlBody
}

// htmlRow makes spans of a row with SGR.
func htmlRow(row string) string {
	var out strings.Builder
	var p pen
	for row != "" {
		text, rest, found := strings.Cut(row, "\x1b[")
		if css := p.css(); css != "" && text != "" {
			fmt.Fprintf(&out, `<span style="%s">%s</span>`, css, html.EscapeString(text))
		} else {
			out.WriteString(html.EscapeString(text))
		}
		if !found {
			break
		}
		var parameters string
		parameters, row, _ = strings.Cut(rest, "m") // a capture holds no other sequence
		p.set(parameters)
	}
	out.WriteByte('\n')
	return out.String()
}

// pen is the style that SGR sets (ECMA-48, 8.3.117; ISO 8613-6 for colours).
type pen struct {
	fg, bg                                string // CSS colours; "" is the page's
	bold, dim, italic, inverse, invisible bool
	underline, strike, overline           bool
}

// set takes the parameters of one SGR, as a capture writes them.
func (p *pen) set(parameters string) {
	words := strings.Split(parameters, ";")
	for i := 0; i < len(words); i++ {
		word, sub, _ := strings.Cut(words[i], ":")
		n, _ := strconv.Atoi(word) // an empty one is 0 (ECMA-48, 5.4.2)
		switch {
		case n == 38 && sub == "":
			i += colour(&p.fg, words[i+1:])
		case n == 48 && sub == "":
			i += colour(&p.bg, words[i+1:])
		case n == 4:
			p.underline = sub != "0"
		default:
			p.attribute(n)
		}
	}
}

func (p *pen) attribute(n int) {
	switch {
	case n == 0:
		*p = pen{}
	case n == 1:
		p.bold = true
	case n == 2:
		p.dim = true
	case n == 3:
		p.italic = true
	case n == 7:
		p.inverse = true
	case n == 8:
		p.invisible = true
	case n == 9:
		p.strike = true
	case n == 53:
		p.overline = true
	case n >= 30 && n <= 37:
		p.fg = indexed(n - 30)
	case n >= 40 && n <= 47:
		p.bg = indexed(n - 40)
	case n >= 90 && n <= 97:
		p.fg = indexed(n - 90 + 8)
	case n >= 100 && n <= 107:
		p.bg = indexed(n - 100 + 8)
	case n == 39:
		p.fg = ""
	case n == 49:
		p.bg = ""
	}
}

// colour reads what follows 38 or 48 and returns how many parameters that are.
func colour(to *string, words []string) int {
	numbers := [4]int{}
	for i := range min(len(words), len(numbers)) {
		numbers[i], _ = strconv.Atoi(words[i])
	}
	switch {
	case numbers[0] == 5 && len(words) >= 2:
		*to = indexed(numbers[1] & 0xff)
		return 2
	case numbers[0] == 2 && len(words) >= 4:
		*to = rgb(numbers[1], numbers[2], numbers[3])
		return 4
	}
	return len(words)
}

func rgb(r, g, b int) string { return fmt.Sprintf("#%02x%02x%02x", r&0xff, g&0xff, b&0xff) }

// basic are the colours of a page that has none of its own, those of xterm.
var basic = [16]string{
	"#000000", "#cd0000", "#00cd00", "#cdcd00", "#0000ee", "#cd00cd", "#00cdcd", "#e5e5e5",
	"#7f7f7f", "#ff0000", "#00ff00", "#ffff00", "#5c5cff", "#ff00ff", "#00ffff", "#ffffff",
}

// indexed is a colour of xterm's 256: the basic ones, a cube of 6×6×6, and 24 greys (xterm, 256colres.h).
func indexed(n int) string {
	step := func(i int) int {
		if i == 0 {
			return 0
		}
		return 55 + 40*i
	}
	switch {
	case n < 16:
		return basic[n]
	case n < 232:
		n -= 16
		return rgb(step(n/36), step(n/6%6), step(n%6))
	}
	grey := 8 + 10*(n-232)
	return rgb(grey, grey, grey)
}

func (p *pen) css() string {
	fg, bg := p.fg, p.bg
	if p.inverse {
		fg, bg = orElse(bg, pageBackground), orElse(fg, pageForeground)
	}
	if p.invisible {
		fg = "transparent"
	}
	var rules []string
	add := func(on bool, rule string) {
		if on {
			rules = append(rules, rule)
		}
	}
	add(fg != "", "color:"+fg)
	add(bg != "", "background:"+bg)
	add(p.bold, "font-weight:bold")
	add(p.dim, "opacity:.6")
	add(p.italic, "font-style:italic")
	decoration := ""
	for _, d := range []struct {
		on   bool
		name string
	}{{p.underline, " underline"}, {p.strike, " line-through"}, {p.overline, " overline"}} {
		if d.on {
			decoration += d.name
		}
	}
	add(decoration != "", "text-decoration:"+strings.TrimPrefix(decoration, " "))
	return strings.Join(rules, ";")
}

func orElse(colour, other string) string {
	if colour == "" {
		return other
	}
	return colour
}
