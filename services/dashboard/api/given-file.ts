/** In place of an answer: a file to keep, under a name of ours. */
export class GivenFile {
  readonly name: string;
  readonly contentType: string;
  readonly text: string;

  constructor(name: string, contentType: string, text: string) {
    this.name = name;
    this.contentType = contentType;
    this.text = text;
  }
}
