// SPDX-License-Identifier: Apache-2.0

package emulator

// Every bound of a Terminal. The geometry bounds what the screens hold, these
// bound the rest, so that no stream of bytes can make it grow without end.
const (
	// ColsMin and RowsMin are the smallest geometry: a wide character needs
	// two columns. Smaller sizes are raised to it.
	ColsMin, RowsMin = 2, 1
	// ColsMax and RowsMax are the largest geometry. Larger sizes are cut.
	ColsMax, RowsMax = 1000, 1000

	// paramsMax is how many parameters, and how many sub-parameters in all, a
	// control sequence keeps. The rest is ignored.
	paramsMax = 32
	// paramMax is the largest parameter value. Larger ones are cut to it.
	paramMax = 1<<31 - 1
	// paramsBytesMax is more than all of them take, written out.
	paramsBytesMax = 2 * paramsMax * len("2147483647;")
	// collectMax is how many prefix and intermediate bytes are told apart. A
	// sequence with more of them means nothing.
	collectMax = 3
	// stringBytesMax is how much of an OSC is kept. A longer one is void.
	stringBytesMax = 64 << 10
	// requestBytesMax is how much of a DECRQSS request is kept: one byte more
	// than the longest one that means something needs.
	requestBytesMax = 4

	// marksMax is how many zero-width characters join one base.
	marksMax = 32
	// clustersMax is how many distinct clusters a cell can name.
	clustersMax = 1<<21 - 1
	// linksMax and linkBytesMax bound the links that live cells hold.
	linksMax     = 4096
	linkBytesMax = 1 << 20
	// linkTargetBytesMax bounds one link. A longer one is no link.
	linkTargetBytesMax = 8 << 10

	// titleBytesMax bounds the title and the icon name. A longer one is cut.
	titleBytesMax = 1 << 10
	// titleStackMax is the depth of the title stack. The oldest falls out.
	titleStackMax = 10
	// keyboardDepthMax is how many keyboard flags a screen keeps, those in force
	// among them. The oldest fall out.
	keyboardDepthMax = 8
	// noticeBytesMax bounds the text of any other notice.
	noticeBytesMax = 4 << 10
	// repliesMax bounds the answers to one OSC: one for each colour.
	repliesMax = 256

	// filterSlack is how many bytes CountFilter may add to twice the length of
	// its input.
	filterSlack = 16

	// clusterBytesMax is the longest text of one cell. styleBytesMax is more
	// than an SGR with every attribute, three colours and DECSCA takes; links
	// are not in it. rowEndBytes is room for what ends a row: a style, a break.
	clusterBytesMax = 4 * (marksMax + 1)
	styleBytesMax   = 160
	rowEndBytes     = styleBytesMax + 2
	// growBytesMin is the least that a text grows by.
	growBytesMin = 2 << 10

	// historyBatchBytes is when a batch of history is delivered early.
	historyBatchBytes = 32 << 10
	// feedSlice is how many bytes are interpreted between two looks at the
	// side tables.
	feedSlice = 16 << 10
	// tableSlack is how many entries a side table may hold beyond twice the
	// live ones before it is rebuilt.
	tableSlack = 4 << 10
)
