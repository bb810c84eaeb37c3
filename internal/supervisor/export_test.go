// SPDX-License-Identifier: Apache-2.0

package supervisor

import (
	"context"

	"spawn/internal/supervisor/page"
)

// SetLastWord is for tests that stand where recovery does.
func (s *Supervisor) SetLastWord(word func(ctx context.Context, whole bool) error) { s.lastWord = word }

// Rows are those of the panes.
func (s *Supervisor) Rows() []Row { return s.panes.Rows() }

// Board is what pages see.
func (s *Supervisor) Board() *page.Board { return s.panes.board }

// EndKnown reports whether the tree has how the pane's terminal ended.
func (s *Supervisor) EndKnown(id string) bool {
	s.panes.mu.Lock()
	defer s.panes.mu.Unlock()
	at, ok := s.panes.mu.tree.Pane(id)
	return ok && at.End != nil && at.End.Known()
}
