/** Rules that the behaviour specification does not number, with what they mean for an object (docs/reference/rules.md, P). */
export const OWN_RULES = {
  P1: 'no policy selects this node: everything is kept',
  P2: 'a pause is in force: everything is kept',
  P3: 'the inventory is not complete: nothing is removed on it',
  P4: 'the command is full: the rest waits for the next round',
  P5: 'half of the listed images is the most that one command removes: the rest waits for the next round',
  P6: 'images go by usage only at the step "images" of a reclaim',
  P7: 'a reclaim is at its step "images": containers and sandboxes wait until it is over',
  P8: 'its id or name is longer than any that a runtime or a kubelet writes, and no command can hold it',
  P9: 'its names are longer, or more, than any registry or runtime gives an image',
  P10: 'too costly: the decision would take more elementary steps than one may, so everything is kept',
} as const;
export type OwnRule = keyof typeof OWN_RULES;
