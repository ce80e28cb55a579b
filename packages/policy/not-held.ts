import type { Headers } from '../event-log/port.ts';

/** Of a record that deletes a key of which the topic said nothing when it was written: on this topic it ends nothing. */
export const NOT_HELD: Headers = { 'fleetgc-not-held': 'true' };

export const saysNotHeld = (headers: Headers): boolean => headers['fleetgc-not-held'] === 'true';
