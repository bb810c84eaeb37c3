// SPDX-License-Identifier: Apache-2.0

package verbs

import "context"

// Pairing is what the verbs that let browsers in act on.
type Pairing interface {
	// PairURL makes an address that pairs one browser.
	PairURL(ctx context.Context) (string, error)
}

// PairNew is the name of the verb.
const PairNew = "pair.new"

type PairNewResult struct {
	URL string `json:"url" help:"address that opens once, within ten minutes"`
}

var pairingVerbs = []Verb{
	row[Empty, PairNewResult]{
		Name: PairNew, Summary: "make an address that lets one more browser in, once, within ten minutes", Right: RightAdmin,
		Errors: []Code{CodeFull},
		Do: func(ctx context.Context, a *ask, _ Empty) (PairNewResult, error) {
			url, err := a.PairURL(ctx)
			return PairNewResult{url}, err
		},
	}.verb(),
}
