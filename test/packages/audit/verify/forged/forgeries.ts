import type { DeviationKind, GapKind } from '../../../../../packages/audit/verify/findings.ts';
import type { TopicId } from '../../../../../schemas/events/topics.ts';
import type { Picking } from '../../support/recorded-log.ts';

/** Which record is forged, and what is said of it. */
export interface Forgery {
  readonly name: string;
  readonly topic: TopicId;
  readonly pick: Picking;
  readonly kind: DeviationKind | GapKind;
}

/** A record that is changed. */
export interface Changed extends Forgery {
  readonly rewrite: (text: string) => string;
  /** Whose record is named, when it is that of another topic. */
  readonly named?: TopicId;
}

/** A record that is taken away; `named` is whose record is named for it. */
export interface Gone extends Forgery {
  readonly named: TopicId;
}

export const contains =
  (...texts: readonly string[]): Picking =>
  (value) =>
    texts.every((text) => value.includes(text));
export const any: Picking = () => true;
export const imageCommand = contains('"kind":"image-removal"');
export const removal = contains('"outcome":"removed"', '"kind":"image"');
export const endOfCommand = contains(
  'fleetgc.node.command-result',
  '"outcome":"done"',
  '"kind":"image-removal"',
);
export const decided = (outcome: string, decider: string) =>
  contains(`"outcome":"${outcome}"`, `"name":"${decider}"`);

/** Another digit in place of the first one after a text. */
export const anotherDigit = (after: string) => (text: string) => {
  const at = text.search(new RegExp(`(?<=${after}[^0-9]*)[0-9]`));
  return `${text.slice(0, at)}${text[at] === '1' ? '2' : '1'}${text.slice(at + 1)}`;
};
/** Another letter in the first place after a text. */
export const anotherLetter = (after: string) => (text: string) => {
  const at = text.indexOf(after) + after.length;
  return `${text.slice(0, at)}${text[at] === 'b' ? 'c' : 'b'}${text.slice(at + 1)}`;
};
