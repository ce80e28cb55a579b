import type { IncomingMessage } from 'node:http';
import type { Access } from '../access/access.ts';
import { holderOfToken, type TokenHolder } from '../access/people.ts';
import { ENDED_SESSION, sessionCookie } from '../access/session-cookie.ts';
import { type Answer, jsonAnswer, refusal } from './answer.ts';
import { readBody } from './body.ts';

const MOST_BODY_BYTES = 4_096;

interface SignInNeeds {
  readonly access: Access;
  readonly tokens: readonly TokenHolder[];
  readonly now: () => number;
}

/** A browser shows a token once, and is known by a cookie from then on. */
export async function signIn(
  request: IncomingMessage,
  { access, tokens, now }: SignInNeeds,
): Promise<Answer> {
  if (!/^text\/plain\b/.test(request.headers['content-type'] ?? ''))
    return refusal(415, 'the token is sent as text/plain');
  const token = await readBody(request, MOST_BODY_BYTES);
  if (token === null) return refusal(413, 'a token is not that long');
  const holder = holderOfToken(tokens, token.trim());
  if (holder === null) return refusal(401, 'nobody has this token');
  const { name, role } = holder;
  const answer = jsonAnswer(200, { user: name, role });
  return {
    ...answer,
    headers: { ...answer.headers, 'set-cookie': sessionCookie(holder, now(), access.isSecure) },
  };
}

export function signOut(): Answer {
  const answer = jsonAnswer(200, {});
  return { ...answer, headers: { ...answer.headers, 'set-cookie': ENDED_SESSION } };
}
