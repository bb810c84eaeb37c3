// SPDX-License-Identifier: Apache-2.0

package emulator

import "testing"

func TestLimitsAreAsChosen(t *testing.T) {
	for name, n := range map[string][2]any{
		"fewest columns":                    {ColsMin, 2},
		"fewest rows":                       {RowsMin, 1},
		"most columns":                      {ColsMax, 1000},
		"most rows":                         {RowsMax, 1000},
		"parameters":                        {paramsMax, 32},
		"the largest parameter":             {paramMax, 1<<31 - 1},
		"bytes of all parameters":           {paramsBytesMax, 704},
		"prefix and intermediate bytes":     {collectMax, 3},
		"bytes of an OSC":                   {stringBytesMax, 64 << 10},
		"bytes of DECRQSS":                  {requestBytesMax, 4},
		"zero-width characters of a base":   {marksMax, 32},
		"clusters":                          {clustersMax, 1<<21 - 1},
		"bytes of a cluster written out":    {clusterTextMax, 16},
		"clusters looked up last":           {recentClusters, 64},
		"links":                             {linksMax, 4096},
		"bytes of all links":                {linkBytesMax, 1 << 20},
		"bytes of a link":                   {linkTargetBytesMax, 8 << 10},
		"bytes of a title":                  {titleBytesMax, 1 << 10},
		"titles on the stack":               {titleStackMax, 10},
		"keyboard flags on the stack":       {keyboardDepthMax, 8},
		"bytes of a notice":                 {noticeBytesMax, 4 << 10},
		"answers to an OSC":                 {repliesMax, 256},
		"bytes that a filter may add":       {filterSlack, 16},
		"bytes of a cell":                   {clusterBytesMax, 132},
		"bytes of a style":                  {styleBytesMax, 160},
		"bytes of the end of a row":         {rowEndBytes, 162},
		"bytes by which a text grows":       {growBytesMin, 2 << 10},
		"bytes of a batch of history":       {historyBatchBytes, 32 << 10},
		"bytes between looks at the tables": {feedSlice, 16 << 10},
		"dead entries of a table":           {tableSlack, 4 << 10},
		"slots of an empty table of styles": {styleSlots, 64},
		"bytes of a column as it was typed": {typedBytes, 2},
		"bits below the style of a cell":    {styleShift, 32},
		"bytes of a geometry's marker":      {geometryBytesMax, 24},
	} {
		if n[0] != n[1] {
			t.Errorf("%s: %v, want %v", name, n[0], n[1])
		}
	}
}
