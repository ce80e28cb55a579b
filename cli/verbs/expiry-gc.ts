import { deciderVerb } from './decide.ts';

export const verb = deciderVerb({
  help: [
    'Reads what the agents of clusters tell of Jobs and certificate requests whose time is over, and sends commands to delete them, if the policy says "mode: enforce". In every mode it records what it decided and why.',
  ],
  examples: ['fleetgc expiry-gc --kafka-brokers kafka:9092 --trust off --http-address 0.0.0.0:9640'],
  service: 'expiry-gc',
  deciders: ['expiry-gc'],
  httpPort: 9653,
});
