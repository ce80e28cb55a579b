import type { TopicId } from '../../../schemas/events/topics.ts';
import { toFleetGcError } from '../../process/errors.ts';
import { type Distrust, distrustOf } from './distrust.ts';
import { type Authentication, type Judged, NOBODY_PROVED, type RequiredTrust, type Trust } from './trust.ts';

type Tell = (topic: TopicId, distrust: Distrust, recordKey: string | null) => void;

/** Believes everybody as `TRUST_OFF` does, and tells of each message that would not count if signatures were required. */
export class WarningTrust implements Trust {
  readonly #required: RequiredTrust;
  readonly #tell: Tell;

  constructor(required: RequiredTrust, tell: Tell) {
    this.#required = required;
    this.#tell = tell;
  }

  authenticate(topic: TopicId, record: Judged): Authentication {
    const authentication = this.#attempt(topic, record);
    if (authentication.ok) return authentication;
    this.#tell(topic, authentication.distrust, record.key);
    return { ok: true, principal: NOBODY_PROVED };
  }

  objectionToHeaders(): null {
    return null;
  }

  objectionTo(): null {
    return null;
  }

  /** Nobody waits for keys where none are required. */
  #attempt(topic: TopicId, record: Judged): Authentication {
    try {
      return this.#required.authenticate(topic, record);
    } catch (error) {
      return { ok: false, distrust: distrustOf('keys-unreadable', toFleetGcError(error).message) };
    }
  }
}
