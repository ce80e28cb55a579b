import type { OutgoingRecord } from '../../../packages/log/port.ts';

/** Attributes of an event that goes out, and its exact bytes. */
export interface OutgoingEvent {
  readonly attributes: Readonly<Record<string, string>>;
  readonly data: Buffer;
}

const PREFIX = 'ce_';

/** As it would lie on the event log: `fleetgctopic` and `partitionkey` say where. */
export function outgoingEvent({ topic, key, value, headers }: OutgoingRecord): OutgoingEvent {
  const attributes = Object.entries(headers).map(([name, text]): [string, string] => {
    if (name.startsWith(PREFIX)) return [name.slice(PREFIX.length), text];
    return [name === 'content-type' ? 'datacontenttype' : name, text];
  });
  return {
    attributes: { ...Object.fromEntries(attributes), fleetgctopic: topic, partitionkey: key },
    data: value ?? Buffer.alloc(0),
  };
}

/** In structured mode, with its bytes in base64: a signature is over them. */
export const structuredOutgoing = ({ attributes, data }: OutgoingEvent): object => ({
  ...attributes,
  data_base64: data.toString('base64'),
});
