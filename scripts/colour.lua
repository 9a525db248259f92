-- colour.lua: code in HTML, with comments, strings, numbers and keywords marked. Used by docs.lua.
local colour = {}

local function words(text)
  local set = {}
  for word in text:gmatch "%S+" do set[word] = true end
  return set
end

local KEYWORDS = {
  lua = words [[and break do else elseif end false for function goto if in local nil not or repeat return then true
    until while]],
  c = words [[bool break case char const double else enum false for if int return sizeof static struct true typedef
    void while]],
}
-- Patterns at the beginning of what is left, in order: { pattern, class }; a name is a keyword or plain.
local TOKENS = {
  lua = {
    { "^%-%-[^\n]*", "comment" }, { '^"[^"\n]*"', "string" }, { "^'[^'\n]*'", "string" }, { "^%[%[.-%]%]", "string" },
    { "^[%a_][%w_]*", "name" }, { "^%d[%w.]*", "number" },
  },
  c = {
    { "^/%*.-%*/", "comment" }, { "^//[^\n]*", "comment" }, { '^"[^"\n]*"', "string" }, { "^#[^\n]*", "comment" },
    { "^[%a_][%w_]*", "name" }, { "^%d[%w.]*", "number" },
  },
  sh = { { "^#[^\n]*", "comment" }, { '^"[^"\n]*"', "string" }, { "^'[^'\n]*'", "string" } },
}

local ENTITIES = { ["&quot;"] = '"', ["&lt;"] = "<", ["&gt;"] = ">", ["&amp;"] = "&" }
local function escape(text) return (text:gsub("[&<>]", { ["&"] = "&amp;", ["<"] = "&lt;", [">"] = "&gt;" })) end

--- The text of a code block, as HTML has it, in colours; as it is where the language has none.
function colour.html(html, language)
  local tokens, keywords = TOKENS[language], KEYWORDS[language] or {}
  if not tokens then return html end
  local code = html:gsub("&%a+;", ENTITIES)
  local out, at = {}, 1
  while at <= #code do
    local rest, text, class = code:sub(at, at + 4000), nil, nil
    for _, token in ipairs(tokens) do
      text, class = rest:match(token[1]), token[2]
      if text then break end
    end
    if not text then
      text, class = rest:match "^[%s]+" or rest:sub(1, 1), nil
    elseif class == "name" then
      class = keywords[text] and "keyword"
    end
    out[#out + 1] = class and ('<i class="%s">%s</i>'):format(class, escape(text)) or escape(text)
    at = at + #text
  end
  return table.concat(out)
end

return colour
