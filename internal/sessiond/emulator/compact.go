// SPDX-License-Identifier: Apache-2.0

package emulator

// compactIfDue rebuilds the side tables when one has grown past its due size,
// which is proportional to what was live the last time.
func (t *Terminal) compactIfDue() {
	if len(t.styles.list) > t.due.styles || len(t.clusters.list) > t.due.clusters || len(t.links.list) > t.due.links {
		t.compact()
	}
}

// due holds the table sizes at which the next rebuild happens.
type due struct{ styles, clusters, links int }

// setDue leaves room in proportion to the cells that a rebuild visits, so that
// the rebuilds cost each fed byte a constant.
func (t *Terminal) setDue() {
	slack := tableSlack + t.cols*t.rows/4
	t.due = due{
		styles:   2*len(t.styles.list) + slack,
		clusters: 2*len(t.clusters.list) + slack,
		links:    2*len(t.links.list) + slack,
	}
	t.fedSince = 0
}

// makeLinkRoom rebuilds the tables for another link, unless the last rebuild
// was too recent to pay.
func (t *Terminal) makeLinkRoom() bool {
	if t.links.full() && t.fedSince >= t.cols*t.rows {
		t.compact()
	}
	return !t.links.full()
}

// compact rebuilds styles, clusters and links from the live cells and the
// pens. All numbers change, so nobody may hold one across it.
func (t *Terminal) compact() {
	old := struct {
		styles   []style
		clusters []cluster
		links    []link
	}{t.styles.list, t.clusters.list, t.links.list}
	serial := t.links.serial
	t.styles, t.clusters, t.links = styleTable{}, clusterTable{}, linkTable{}
	t.styles.reset()
	t.clusters.reset()
	t.links.reset()
	t.links.serial = serial

	relink := func(s style) style {
		if s.link != 0 {
			s.link = t.links.add(old.links[s.link])
		}
		return s
	}
	styleIDs := make([]uint32, len(old.styles))
	seen := make([]bool, len(old.styles))
	recluster := newReclusterer(&t.clusters, old.clusters)
	for _, s := range []*screen{&t.primary, &t.alternate} {
		for i := range s.store {
			if s.store[i].typedStyle != 0 {
				s.store[i].typedCols = -1 // the number is another one from here on
			}
			cells := s.store[i].cells[:s.store[i].used]
			for x, c := range cells {
				id := c.style()
				if !seen[id] {
					seen[id] = true
					styleIDs[id] = t.styles.intern(relink(old.styles[id]))
				}
				cells[x] = recluster(c&contentMask) | c&classMask | styled(styleIDs[id])
			}
		}
	}
	t.pen.style = relink(t.pen.style)
	t.pen.fresh = 0
	t.setDue()
}

// newReclusterer returns a function that moves the content of a cell from an
// old cluster table to a new one.
func newReclusterer(to *clusterTable, old []cluster) func(cell) cell {
	moved := make([]cell, len(old))
	var move func(cell) cell
	move = func(content cell) cell {
		if content&clusterFlag == 0 {
			return content
		}
		n := content & runeMask
		if moved[n] == 0 {
			moved[n] = to.join(move(old[n].parent), old[n].last)
		}
		return moved[n]
	}
	return move
}
