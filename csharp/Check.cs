// Check.cs - reads the files of spec/messages that it is given and says where AoiSync.cs reads something else than they
// say; their format is in spec/messages/README.md. Used by spec/lua/sync_decoders_spec.lua.
using System;
using System.Collections.Generic;
using System.Globalization;
using System.IO;
using System.Linq;
using System.Text;
using Aoi;

static class Check
{
    static string Hex(byte[] bytes) { return string.Concat(bytes.Select(b => b.ToString("x2"))); }

    static string Bits(double v) { return BitConverter.DoubleToInt64Bits(v).ToString("x16"); }

    static string Shown(Value v)
    {
        if (v.Type >= FieldType.String) return "\"" + Hex(v.Bytes);
        return v.Type == FieldType.Bool ? v.Bool ? "true" : "false" : Bits(v.Number);
    }

    static string Place(double x, double y, double z, int dimensions)
    {
        return Bits(x) + "," + Bits(y) + (dimensions == 3 ? "," + Bits(z) : "");
    }

    static string Named(IEnumerable<string> list)
    {
        List<string> sorted = list.ToList();
        sorted.Sort(string.CompareOrdinal);
        return string.Concat(sorted.Select(text => "," + text));
    }

    static string NameHex(string name) { return Hex(MessageReader.Names.GetBytes(name)); }

    static string Text(News news)
    {
        List<string> parts = new List<string>();
        if (news.Anew) parts.Add("anew");
        for (int i = 0; i < news.Gone.Count; i++)
            parts.Add("g," + news.Gone[i] + (news.Reasons[i] > 0 ? "," + news.Reasons[i] : ""));
        foreach (Row r in news.Appeared) parts.Add("a," + r.Id + "," + r.Kind + "," + Place(r.X, r.Y, r.Z, news.Dimensions));
        foreach (Row r in news.Moved) parts.Add("m," + r.Id + "," + Place(r.X, r.Y, r.Z, news.Dimensions));
        foreach (Row r in news.Touched) parts.Add("t," + r.Id + "," + r.Kind);
        foreach (Ride r in news.Riding) parts.Add("r," + r.Id + "," + r.Carrier + "," + Place(r.X, r.Y, r.Z, news.Dimensions));
        foreach (IGrouping<int, Change> record in news.Fields.GroupBy(c => c.Record))
        {
            Dictionary<string, Value> values = new Dictionary<string, Value>();
            foreach (Change change in record) values[change.Name] = change.Value; // what stands twice counts once
            parts.Add("f," + record.First().Id + Named(values.Select(v => NameHex(v.Key) + "=" + Shown(v.Value))));
        }
        return parts.Count > 0 ? string.Join(";", parts) : "nothing";
    }

    static string Pictured(Picture picture, int dimensions)
    {
        IEnumerable<string> all = picture.Known.Values.OrderBy(it => it.Id).Select(it => it.Id + "," + it.Kind + "," +
            Place(it.X, it.Y, it.Z, dimensions) + (it.Carrier != 0 ? ",on" + it.Carrier : "") + Named(it.Fields.Select(f => NameHex(f.Key) + "=" + Shown(f.Value))));
        return picture.Known.Count > 0 ? string.Join(";", all) : "nothing";
    }

    static int Main(string[] files)
    {
        int lines = 0, wrong = 0;
        MessageReader.Names = Encoding.GetEncoding("iso-8859-1"); // every byte counts
        CultureInfo.CurrentCulture = CultureInfo.GetCultureInfo("de-DE"); // no text depends on it
        foreach (string file in files)
        {
            Picture picture = new Picture();
            bool each = false; // a new picture for each line
            int dimensions = 2;
            foreach (string line in File.ReadLines(file))
            {
                string[] words = line.Split(' ');
                if (line == "" || words[0] == "#") continue;
                string got;
                if (words[0] == "each") { each = true; continue; }
                if (each) picture = new Picture();
                if (words[0] == "=") got = Pictured(picture, dimensions);
                else
                {
                    byte[] bytes = new byte[words[0].Length / 2];
                    for (int i = 0; i < bytes.Length; i++) bytes[i] = Convert.ToByte(words[0].Substring(2 * i, 2), 16);
                    try
                    {
                        News news = picture.Apply(bytes);
                        dimensions = news.Dimensions;
                        got = Text(news);
                    }
                    catch (MessageException) { got = "-"; }
                }
                lines++;
                if (got != words[1] && wrong++ < 5) Console.WriteLine(words[0] + "\n  expected " + words[1] + "\n  got      " + got);
            }
        }
        Console.WriteLine(lines + " lines, " + wrong + " read differently");
        return wrong > 0 ? 1 : 0;
    }
}
