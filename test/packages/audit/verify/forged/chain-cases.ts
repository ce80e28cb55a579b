import {
  anotherDigit,
  anotherLetter,
  any,
  type Changed,
  contains,
  endOfCommand,
  type Gone,
  imageCommand,
  removal,
} from './forgeries.ts';

/** Commands, orders and results. */
export const CHAIN_CHANGED: readonly Changed[] = [
  {
    name: 'an object in a command',
    topic: 'commands',
    pick: imageCommand,
    rewrite: anotherLetter('"id":"sha256:'),
    kind: 'output-differs',
  },
  {
    name: 'the lifetime of a command',
    topic: 'commands',
    pick: imageCommand,
    rewrite: anotherDigit('lifetimeMs'),
    kind: 'output-differs',
  },
  {
    name: 'the id of a command',
    topic: 'commands',
    pick: imageCommand,
    rewrite: anotherDigit('"id":"command-'),
    kind: 'not-decided',
  },
  {
    name: 'the type of a command',
    topic: 'commands',
    pick: imageCommand,
    rewrite: anotherLetter('fleetgc.node.'),
    kind: 'unreadable',
  },
  {
    name: 'the target of an order',
    topic: 'observe',
    pick: any,
    rewrite: anotherDigit('atLeast'),
    kind: 'output-differs',
  },
  {
    name: 'the round of an order by an executor',
    topic: 'observe',
    pick: contains('"round":2'),
    rewrite: (text) => text.replace('"round":2', '"round":3'),
    kind: 'output-differs',
  },
  {
    name: 'the target of an order by an executor',
    topic: 'observe',
    pick: contains('"round":2'),
    rewrite: anotherDigit('atLeast'),
    kind: 'output-differs',
  },
  {
    name: 'the cause of an order by an executor',
    topic: 'observe',
    pick: contains('"round":2'),
    rewrite: anotherDigit('"threshold":"'),
    kind: 'output-differs',
  },
  {
    name: 'the installation of an order by an executor',
    topic: 'observe',
    pick: contains('"round":2'),
    rewrite: anotherLetter('"nodeInstance":"'),
    kind: 'output-differs',
  },
  {
    name: 'the lifetime of an order by an executor',
    topic: 'observe',
    pick: contains('"round":2'),
    rewrite: anotherDigit('lifetimeMs'),
    kind: 'output-differs',
  },
  {
    name: 'the target in an inventory that answers an order',
    topic: 'inventory',
    pick: contains('"trigger":"order"', '"step":"images"'),
    rewrite: anotherDigit('atLeast'),
    kind: 'output-differs',
  },
  {
    name: 'the cause in an inventory that answers an order',
    topic: 'inventory',
    pick: contains('"trigger":"order"', '"step":"images"'),
    rewrite: anotherDigit('"reading":"'),
    kind: 'output-differs',
  },
  {
    name: 'the object of a result',
    topic: 'results',
    pick: removal,
    rewrite: anotherLetter('"object":{"id":"sha256:'),
    kind: 'not-commanded',
  },
  {
    name: 'the id of a result',
    topic: 'results',
    pick: removal,
    rewrite: anotherDigit('"id":"object-result-'),
    kind: 'result-differs',
  },
  {
    name: 'the command of a result',
    topic: 'results',
    pick: removal,
    rewrite: anotherDigit('"commandId":"command-'),
    kind: 'not-commanded',
  },
  {
    name: 'the decision of a result',
    topic: 'results',
    pick: removal,
    rewrite: anotherDigit('"decisionId":"decision-'),
    kind: 'result-differs',
  },
  {
    name: 'the rule of a result',
    topic: 'results',
    pick: removal,
    rewrite: anotherDigit('"rule":'),
    kind: 'result-differs',
  },
  {
    name: 'the count in the result of a command',
    topic: 'results',
    pick: endOfCommand,
    rewrite: anotherDigit('"removed":'),
    kind: 'result-missing',
  },
  {
    name: 'the id of the result of a command',
    topic: 'results',
    pick: endOfCommand,
    rewrite: anotherDigit('"id":"command-result-'),
    kind: 'result-differs',
  },
];

export const CHAIN_GONE: readonly Gone[] = [
  { name: 'a command', topic: 'commands', pick: imageCommand, kind: 'output-missing', named: 'decisions' },
  { name: 'an order', topic: 'observe', pick: any, kind: 'output-missing', named: 'decisions' },
  {
    name: 'the result of an object',
    topic: 'results',
    pick: removal,
    kind: 'result-missing',
    named: 'results',
  },
  {
    name: 'the result of a command',
    topic: 'results',
    pick: endOfCommand,
    kind: 'result-missing',
    named: 'commands',
  },
];

/** A forged copy beside the original. */
export const CHAIN_ADDED: readonly Changed[] = [
  {
    name: 'a removal of an object that its command does not name, after the end of that command',
    topic: 'results',
    pick: removal,
    rewrite: (text) => anotherLetter('"object":{"id":"sha256:')(anotherDigit('"id":"object-result-')(text)),
    kind: 'result-differs',
  },
  {
    name: 'a removal by a command that nobody gave',
    topic: 'results',
    pick: removal,
    rewrite: (text) => anotherDigit('"commandId":"command-')(anotherDigit('"id":"object-result-')(text)),
    kind: 'not-commanded',
  },
  {
    name: 'a command that no decision lists',
    topic: 'commands',
    pick: imageCommand,
    rewrite: anotherDigit('"id":"command-'),
    kind: 'not-decided',
  },
  {
    name: 'an order that nobody gave',
    topic: 'observe',
    pick: any,
    rewrite: anotherDigit('"id":"observe-'),
    kind: 'not-decided',
  },
  {
    name: 'a command with the id of another one',
    topic: 'commands',
    pick: imageCommand,
    rewrite: anotherDigit('lifetimeMs'),
    kind: 'id-reused',
  },
];

/** Forged answers to a command that lies before the range. */
export const LATE_ANSWERS_CHANGED: readonly Changed[] = [
  ...CHAIN_CHANGED.filter(({ topic, pick }) => topic === 'results' && pick === removal),
  {
    name: 'the id of the result of a command',
    topic: 'results',
    pick: endOfCommand,
    rewrite: anotherDigit('"id":"command-result-'),
    kind: 'result-differs',
  },
  {
    name: 'a result of a command that counts fewer removals than there are',
    topic: 'results',
    pick: endOfCommand,
    rewrite: (text) => text.replace(/"removed":[1-9][0-9]*/, '"removed":0'),
    kind: 'result-missing',
  },
];
