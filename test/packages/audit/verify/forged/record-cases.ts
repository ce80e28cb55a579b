import { TOPICS } from '../../../../../schemas/events/topics.ts';
import { anotherDigit, anotherLetter, any, type Changed, decided, type Gone } from './forgeries.ts';

/** What was decided on, and the records of it. */
export const RECORDS_CHANGED: readonly Changed[] = [
  {
    name: 'the size of an image in an inventory',
    topic: 'inventory',
    pick: any,
    rewrite: anotherDigit('sizeBytes'),
    kind: 'input-changed',
    named: 'decisions',
  },
  {
    name: 'a space more in an inventory',
    topic: 'inventory',
    pick: any,
    rewrite: (text) => `${text} `,
    kind: 'input-changed',
    named: 'decisions',
  },
  {
    name: 'free bytes in disk statistics',
    topic: 'diskStats',
    pick: any,
    rewrite: anotherDigit('availableBytes'),
    kind: 'input-changed',
    named: 'decisions',
  },
  {
    name: 'a rule in a record',
    topic: 'decisions',
    pick: decided('commanded', 'image-gc'),
    rewrite: anotherDigit('"rule":'),
    kind: 'decided-differently',
  },
  {
    name: 'the reason in a record',
    topic: 'decisions',
    pick: decided('nothing-to-do', 'container-gc'),
    rewrite: anotherLetter('"reason":"'),
    kind: 'decided-differently',
  },
  {
    name: 'the hash of the output in a record',
    topic: 'decisions',
    pick: any,
    rewrite: anotherDigit('outputSha256'),
    kind: 'decided-differently',
  },
  {
    name: 'the decider in a record',
    topic: 'decisions',
    pick: any,
    rewrite: anotherDigit('"version":"'),
    kind: 'wrong-id',
  },
  {
    name: 'the policies in a record',
    topic: 'decisions',
    pick: any,
    rewrite: anotherDigit('policySetHash'),
    kind: 'wrong-id',
  },
  {
    name: 'the id of a record',
    topic: 'decisions',
    pick: any,
    rewrite: anotherDigit('"id":"decision-'),
    kind: 'wrong-id',
  },
  {
    name: 'the position of the input in a record',
    topic: 'decisions',
    pick: any,
    rewrite: anotherDigit('"offset":"'),
    kind: 'input-changed',
  },
  {
    name: 'the version of an event',
    topic: 'decisions',
    pick: any,
    rewrite: (text) => text.replace(/"version":1}$/, '"version":9}'),
    kind: 'unknown-version',
  },
];

const onInventory = (from: RegExp, to: string): Pick<Changed, 'topic' | 'pick' | 'rewrite' | 'kind'> => ({
  topic: 'decisions',
  pick: decided('commanded', 'image-gc'),
  rewrite: (text) => text.replace(from, to),
  kind: 'input-never-was',
});

/** Where no input of its decider can have been; the id of a record does not depend on it. */
export const NEVER_WAS: readonly Changed[] = [
  { name: 'behind the end', ...onInventory(/(?<="input":{[^}]*"offset":")\d+/, '999999') },
  { name: 'at no offset', ...onInventory(/(?<="input":{[^}]*"offset":")\d+/, 'last') },
  {
    name: 'at an offset with a zero before it',
    ...onInventory(/(?<="input":{[^}]*"offset":")\d+/, '0999999'),
  },
  { name: 'in a partition of other nodes', ...onInventory(/(?<="input":{[^}]*"partition":)\d+/, '999') },
  {
    name: 'on the topic of commands',
    ...onInventory(/(?<="input":{[^}]*"topic":")[^"]+/, TOPICS.commands.name),
  },
  {
    name: 'on the other topic that is decided on',
    ...onInventory(
      /(?<="input":{[^}]*)"offset":"\d+"([^}]*)"topic":"gc.node.inventory"/,
      `"offset":"999999"$1"topic":"${TOPICS.diskStats.name}"`,
    ),
  },
];

export const RECORDS_GONE: readonly Gone[] = [
  { name: 'an inventory', topic: 'inventory', pick: any, kind: 'input-gone', named: 'decisions' },
  { name: 'disk statistics', topic: 'diskStats', pick: any, kind: 'input-gone', named: 'decisions' },
  {
    name: 'a record that kept everything',
    topic: 'decisions',
    pick: decided('nothing-to-do', 'container-gc'),
    kind: 'undecided',
    named: 'inventory',
  },
  {
    name: 'a record that commanded',
    topic: 'decisions',
    pick: decided('commanded', 'image-gc'),
    kind: 'not-decided',
    named: 'commands',
  },
  {
    name: 'a record that ordered',
    topic: 'decisions',
    pick: decided('ordered', 'pressure'),
    kind: 'not-decided',
    named: 'observe',
  },
];
