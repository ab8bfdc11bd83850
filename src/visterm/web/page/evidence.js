// What is written about a picture, and who says it.

/** Who says which words of the query: pairs of a name for it and words. */
export function says(evidence) {
  return [['caption', 'words'], ['file name', 'file_words'], ['folder', 'folder_words'], ['text', 'text_words']]
    .map(([who, key]) => [who, evidence?.[key] || []]).filter(([, words]) => words.length)
}

/** The same as a sentence without its full stop; words as `shown`. */
export function said(evidence, shown = word => word) {
  return says(evidence).map(([who, words]) => `its ${who} has ${words.map(shown).join(', ')}`).join('; ')
}
